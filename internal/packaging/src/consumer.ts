import { access, mkdir, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

import { run } from './run.ts'
import type { PublishedPackage } from './workspace.ts'

/** Packages a user may choose not to have; they may be present only where the package asks for them. */
const OPTIONAL_FOR_USERS = ['e2b', '@mastra/core', 'msw']

export interface Tarball {
  readonly name: string
  readonly path: string
}

/**
 * Installs a packed package, with only the tarballs below it, in an empty project and uses it as a stranger would:
 * `import`, `require`, and TypeScript in both module kinds.
 */
export async function checkAsConsumer(
  project: string,
  subject: PublishedPackage,
  tarballs: readonly Tarball[],
  peersWanted: ReadonlySet<string>,
): Promise<void> {
  await mkdir(project, { recursive: true })
  const own = tarballs.find((tarball) => tarball.name === subject.name)
  if (own === undefined) throw new Error(`${subject.name} was not packed`)
  const specifiers = subject.entryPoints.map((path) => subject.name + path.slice(1))
  await Promise.all([
    writeFile(
      join(project, 'package.json'),
      JSON.stringify({
        name: 'consumer',
        private: true,
        dependencies: { [subject.name]: `file:${own.path}`, ...subject.optionalPeers },
      }),
    ),
    writeFile(
      join(project, 'pnpm-workspace.yaml'),
      [
        'packages: []',
        'overrides:',
        ...tarballs.map(({ name, path }) => `  '${name}': 'file:${path}'`),
        'strictDepBuilds: false',
        '',
      ].join('\n'),
    ),
    ...(['mts', 'cts'] as const).map((extension) =>
      writeFile(join(project, `use.${extension}`), typesProgram(specifiers)),
    ),
    writeFile(join(project, 'use.mjs'), specifiers.map((name) => checkNamespace(`await import('${name}')`)).join('')),
    writeFile(join(project, 'use.cjs'), specifiers.map((name) => checkNamespace(`require('${name}')`)).join('')),
    writeFile(
      join(project, 'tsconfig.json'),
      JSON.stringify({
        compilerOptions: {
          strict: true,
          noEmit: true,
          module: 'nodenext',
          target: 'es2023',
          lib: ['es2023', 'dom', 'dom.iterable', 'dom.asynciterable'],
          types: [],
          // The dependencies' own declarations are theirs to keep right; a package of ours that needs no peer answers for all of its own.
          skipLibCheck: subject.peers.length > 0,
        },
        files: ['use.mts', 'use.cts'],
      }),
    ),
  ])
  await run('pnpm', ['install', '--ignore-scripts', '--prefer-offline', '--reporter=append-only'], project)
  for (const name of OPTIONAL_FOR_USERS) {
    if (!peersWanted.has(name) && (await exists(join(project, 'node_modules/.pnpm/node_modules', name))))
      throw new Error(`${subject.name} pulls in ${name}, which its users may not want`)
  }
  await run(process.execPath, ['use.mjs'], project)
  await run(process.execPath, ['use.cjs'], project)
  await run(process.execPath, [compiler(), '-p', 'tsconfig.json'], project)
}

const typesProgram = (specifiers: readonly string[]): string =>
  specifiers
    .map(
      (name, index) =>
        `import * as entry${index} from '${name}'\nexport const names${index}: string[] = Object.keys(entry${index})\n`,
    )
    .join('')

const checkNamespace = (expression: string): string =>
  `if (Object.keys(${expression}).length === 0) throw new Error(${JSON.stringify(`${expression} exports nothing`)})\n`

const compiler = (): string => {
  const require = createRequire(import.meta.url)
  return join(dirname(require.resolve('@typescript/native/package.json')), 'bin/tsc')
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )
