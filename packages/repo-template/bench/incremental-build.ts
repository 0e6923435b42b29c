import { createEmulator } from '@warmbox/e2b-emulator'
import { createRepository, startGitServer } from '@warmbox/git-server'
import { refreshRepoTemplate } from '@warmbox/repo-template'

const PACKAGES = 60
const FILES = 80
/** As a dependency's: what it exports, more or less. */
const text = (seed: number): string =>
  Array.from({ length: 120 }, (_none, line) => `exports.value${line} = ${(seed * 7919 + line) % 65_521}\n`).join('')

/** A repository whose packages npm copies into node_modules. */
const files = (): Record<string, string> => {
  const names = Array.from({ length: PACKAGES }, (_none, index) => `dependency-${index}`)
  const made: Record<string, string> = { '.gitignore': 'node_modules/\n' }
  for (const [index, name] of names.entries()) {
    made[`vendor/${name}/package.json`] = JSON.stringify({ name, version: '1.0.0' })
    for (let file = 0; file < FILES; file += 1) made[`vendor/${name}/lib/${file}.js`] = text(index * FILES + file)
  }
  const dependencies = Object.fromEntries(names.map((name) => [name, `file:vendor/${name}`]))
  made['package.json'] = JSON.stringify({ name: 'widgets', version: '1.0.0', private: true, dependencies })
  return made
}

export interface IncrementalFigures {
  readonly cleanMs: number
  readonly incrementalMs: number
}

/**
 * How long the build of a moved head takes from nothing and on the build before it, each with `npm install` of
 * packages from the repository itself, on the emulator's real machines. What comes before the clone is cached for both.
 */
export const measureIncrementalBuild = async (): Promise<IncrementalFigures> => {
  const repository = await createRepository()
  const server = await startGitServer({ repositories: { 'acme/widgets.git': repository.path } })
  const emulator = createEmulator({ runtime: 'real', certificateAuthorities: [server.certificateAuthority] })
  try {
    const { connection } = await emulator.listen()
    const refresh = async (expected: 'clean' | 'incremental'): Promise<number> => {
      const started = performance.now()
      const { build } = await refreshRepoTemplate(
        {
          getRepositoryAccess: () => Promise.resolve({ cloneUrl: server.cloneUrl('acme/widgets.git') }),
          certificateAuthority: server.certificateAuthority,
          headTimeoutMs: 60_000,
          setupCommand: 'npm install --install-links --offline --no-audit --no-fund --loglevel=error',
        },
        { ...connection, force: expected === 'clean' },
      )
      if (build !== expected) throw new Error(`The build was ${build}, not ${expected}`)
      return Math.round(performance.now() - started)
    }
    await repository.commit(files())
    await refresh('clean')
    await repository.commit({ 'src/index.js': 'exports.moved = true\n' })
    const incrementalMs = await refresh('incremental')
    return { cleanMs: await refresh('clean'), incrementalMs }
  } finally {
    await emulator.close()
    await server.close()
    await repository.remove()
  }
}
