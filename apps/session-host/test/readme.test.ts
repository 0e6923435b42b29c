import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'

import { createEmulator, probeNamespaces } from '@warmbox/e2b-emulator'
import { createRepository, startGitServer } from '@warmbox/git-server'
import { expect, test } from 'vitest'

import { resolveOptions } from '../src/options.ts'

const root = resolve(import.meta.dirname, '../../..')
const readme = await readFile(join(root, 'README.md'), 'utf8')
const blocks = (language: string): string[] =>
  [...readme.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(([, code]) => code ?? '')
const namespaces = await probeNamespaces()
const without = namespaces.available ? '' : ` (skipped: ${namespaces.reason})`

test('every command of the README is a script of this repository, with arguments it takes', async () => {
  const { scripts }: { scripts: Record<string, string> } = JSON.parse(
    await readFile(join(root, 'package.json'), 'utf8'),
  )
  const commands = blocks('sh').flatMap((block) => block.trim().split('\n'))
  expect(commands.length).toBeGreaterThan(2)
  for (const command of commands) {
    const [, key, script, rest = ''] = /^(E2B_API_KEY=\S+ )?npx -y pnpm@12 (\S+)(?: (.*))?$/.exec(command) ?? []
    expect(Object.keys(scripts), command).toContain(script)
    const parsed = resolveOptions(script === 'demo' ? rest.split(' ').filter(Boolean) : [], { E2B_API_KEY: key })
    expect(parsed).toMatchObject({ json: rest.includes('--json') })
  }
})

test('CI runs both commands of the first screen', async () => {
  const [first = ''] = blocks('sh')
  const ci = await readFile(join(root, '.ci/run'), 'utf8')
  for (const command of first.trim().split('\n')) expect(ci).toContain(command)
})

test.skipIf(!namespaces.available)(
  `the shortest useful code compiles and does what it says, twice: built, then exact${without}`,
  { timeout: 120_000 },
  async () => {
    const [code = ''] = blocks('ts')
    const repository = await createRepository()
    await repository.commit({
      'package.json': JSON.stringify({ name: 'widgets', version: '1.0.0' }),
      'package-lock.json': JSON.stringify({ name: 'widgets', version: '1.0.0', lockfileVersion: 3, packages: {} }),
    })
    const server = await startGitServer({ repositories: { 'acme/widgets.git': repository.path } })
    const emulator = createEmulator({ certificateAuthorities: [server.certificateAuthority] })
    // Inside the package, so that its imports resolve as a user's would.
    const directory = join(import.meta.dirname, '../.vitest')
    await mkdir(directory, { recursive: true })
    const project = await mkdtemp(join(directory, 'readme-'))
    const scratch = await mkdtemp(join(tmpdir(), 'warmbox-readme-'))
    try {
      const { connection } = await emulator.listen()
      const program = join(project, 'snippet.ts')
      expect(code).toContain('https://github.com/acme/widgets.git')
      await writeFile(program, code.replace('https://github.com/acme/widgets.git', server.cloneUrl('acme/widgets.git')))
      const authority = join(scratch, 'authority.pem')
      await writeFile(authority, server.certificateAuthority)
      await writeFile(
        join(project, 'tsconfig.json'),
        JSON.stringify({
          extends: '../../tsconfig.src.json',
          compilerOptions: {
            rootDir: '.',
            outDir: './out',
            composite: false,
            noEmit: true,
            customConditions: [],
            types: ['node'],
          },
          include: ['snippet.ts'],
          references: [],
        }),
      )
      await promisify(execFile)('tsc', ['-p', project])
      const runOnce = async () => {
        const { stdout } = await promisify(execFile)(process.execPath, [program], {
          env: {
            ...process.env,
            E2B_API_KEY: connection.apiKey,
            E2B_API_URL: connection.apiUrl,
            E2B_SANDBOX_URL: connection.sandboxUrl,
            NODE_EXTRA_CA_CERTS: authority,
          },
        })
        return stdout
      }
      expect(await runOnce()).toMatch(/^built: [0-9a-f]+ /)
      expect(await runOnce()).toMatch(/^exact: [0-9a-f]+ /)
    } finally {
      await emulator.close()
      await server.close()
      await Promise.all([repository.remove(), rm(project, { recursive: true }), rm(scratch, { recursive: true })])
    }
  },
)
