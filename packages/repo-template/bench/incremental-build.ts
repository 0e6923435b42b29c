import { createEmulator } from '@warmbox/e2b-emulator'
import { createRepository, startGitServer } from '@warmbox/git-server'
import { refreshRepoTemplate } from '@warmbox/repo-template'
import { median } from './median.ts'
import { servePackages } from './package-server.ts'

/** As installed for a Next.js 15 application with TypeScript, ESLint and Tailwind: 327 packages, 18,435 files, 393 MB. */
const PACKAGES = 330
const FILES = 55
const LINES = 800
const ROUNDS = 3

/** As a dependency's: what it exports, more or less. */
const text = (seed: number): string =>
  Array.from({ length: LINES }, (_none, line) => `exports.value${line} = ${(seed * 7919 + line) % 65_521}\n`).join('')

const packages = Array.from({ length: PACKAGES }, (_none, index) => {
  const name = `dependency-${index}`
  const modules = Array.from({ length: FILES }, (_nothing, file) => [`lib/${file}.js`, text(index * FILES + file)])
  return {
    name,
    files: { 'package.json': JSON.stringify({ name, version: '1.0.0' }), ...Object.fromEntries(modules) },
  }
})

/** Medians. */
export interface IncrementalFigures {
  readonly cleanMs: number
  readonly incrementalMs: number
}

/**
 * How long the build of a moved head takes from nothing and on the build before it, each with an `npm install` from a
 * lockfile, on the emulator's real machines. The tarballs come from a server on loopback, which is as near as a registry
 * gets. What comes before the clone is cached for both.
 */
export const measureIncrementalBuild = async (): Promise<IncrementalFigures> => {
  const repository = await createRepository()
  const server = await startGitServer({ repositories: { 'acme/widgets.git': repository.path } })
  const registry = await servePackages(packages)
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
          setupCommand: 'npm install --no-audit --no-fund --no-update-notifier --loglevel=error',
        },
        { ...connection, force: expected === 'clean' },
      )
      if (build !== expected) throw new Error(`The build was ${build}, not ${expected}`)
      return Math.round(performance.now() - started)
    }
    await repository.commit({ '.gitignore': 'node_modules/\n', ...registry.manifests })
    await refresh('clean')
    const clean: number[] = []
    const incremental: number[] = []
    // In turns, so that a busy machine slows both alike.
    for (let round = 0; round < ROUNDS; round += 1) {
      await repository.commit({ 'src/index.js': `exports.moved = ${round}\n` })
      incremental.push(await refresh('incremental'))
      clean.push(await refresh('clean'))
    }
    return { cleanMs: median(clean), incrementalMs: median(incremental) }
  } finally {
    await emulator.close()
    await registry.close()
    await server.close()
    await repository.remove()
  }
}
