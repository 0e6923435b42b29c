import { createEmulator, createScriptedRuntime } from '@warmbox/e2b-emulator'
import { createRepository, startGitServer } from '@warmbox/git-server'
import { createRepoTemplate, refreshRepoTemplate, type RepoTemplateOptions } from '@warmbox/repo-template'
import { settleBackgroundBuilds } from '@warmbox/resolution'
import { E2BSandbox } from '@warmbox/sandbox'
import { type ConnectionOpts, Sandbox } from 'e2b'
import { execFile } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import type { IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import { RoundTrips } from './round-trips.ts'
import { startSlowProxy } from './slow-proxy.ts'

/** Added to every request of the API and of the git server, so that round trips count and this machine hardly does. */
const LATENCY_MS = 100
const RUNS = 7
const repositoryName = 'acme/widgets.git'

export interface WarmStartFigures extends Record<string, number> {
  /** Time of a start from the exact build, over that of `Sandbox.list` and `Sandbox.create` one after the other. */
  readonly warmExactRatio: number
  /** The same from an earlier build, while the exact one is built in the background. */
  readonly warmStaleRatio: number
  /** Answers either waited for one after another. */
  readonly warmSequentialRoundTrips: number
}

interface Timed {
  readonly ms: number
  readonly roundTrips: number
}

/** What a warm start costs over the bare calls it cannot do without. */
export async function measureWarmStarts(): Promise<WarmStartFigures> {
  const trips = new RoundTrips()
  let latency = 0
  const hold = async ({ method, url }: IncomingMessage): Promise<() => void> => {
    const answered = trips.arrived(method === 'POST' && url === '/v2/sandboxes')
    await pause(latency)
    return answered
  }
  const repository = await createRepository()
  let advertisement: Buffer = Buffer.alloc(0)
  const git = await startGitServer({
    repositories: { [repositoryName]: repository.path },
    // What git would say of its refs, fetched beforehand: a process started per request would be measured instead.
    intercept: async (incoming, response) => {
      if (incoming.url?.includes('/info/refs') !== true) return false
      response.once('finish', await hold(incoming))
      response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-advertisement' }).end(advertisement)
      return true
    },
  })
  const emulator = createEmulator({ runtime: createScriptedRuntime({ commands: [] }) })
  const server = await emulator.listen()
  const proxy = await startSlowProxy(server.connection.apiUrl, hold)
  try {
    const connection: ConnectionOpts = { ...server.connection, apiUrl: proxy.url }
    const template: RepoTemplateOptions = {
      getRepositoryAccess: async () => ({ cloneUrl: git.cloneUrl(repositoryName) }),
      certificateAuthority: git.certificateAuthority,
    }
    // Every head there will be, made beforehand: git processes between two starts would slow down the start that follows.
    const advertisements: Buffer[] = []
    for (let commits = 0; commits < RUNS + 2; commits += 1) {
      // oxlint-disable-next-line no-await-in-loop -- commits follow each other
      await repository.commit({ 'README.md': `${commits}\n` })
      // oxlint-disable-next-line no-await-in-loop
      advertisements.push(await advertise(repository.path))
    }
    const moveHead = (): void => {
      advertisement = advertisements.shift() ?? advertisement
    }
    moveHead()
    const { ref } = await refreshRepoTemplate(template, connection)
    latency = LATENCY_MS

    let sessions = 0
    const timed = async (start: (id: string) => Promise<void>): Promise<Timed> => {
      // Nothing of what came before, git processes and background work, is left to disturb it.
      await settleBackgroundBuilds()
      await pause(3 * LATENCY_MS)
      trips.reset()
      sessions += 1
      const startedAt = performance.now()
      await start(`session-${sessions}`)
      return { ms: performance.now() - startedAt, roundTrips: trips.sequential }
    }
    const bare = async (id: string): Promise<void> => {
      await Sandbox.list({ ...connection, query: { metadata: { 'mastra-sandbox-id': id } } }).nextItems()
      await Sandbox.create(ref, { ...connection, metadata: { 'mastra-sandbox-id': id } })
    }
    const warm = (rung: string) => async (id: string) => {
      const sandbox = new E2BSandbox({ ...connection, id, template: createRepoTemplate(template) })
      await sandbox.start()
      const { lastBoot } = sandbox
      if (lastBoot?.rung !== rung) throw new Error(`Booted from the ${lastBoot?.rung} rung instead of ${rung}`)
    }

    // The first of each opens connections and compiles.
    await timed(bare)
    await timed(warm('exact'))
    moveHead()
    await timed(warm('stale'))
    const times: Record<'bare' | 'exact' | 'stale', Timed[]> = { bare: [], exact: [], stale: [] }
    for (let run = 0; run < RUNS; run += 1) {
      times.bare.push(await timed(bare))
      times.exact.push(await timed(warm('exact')))
      moveHead()
      times.stale.push(await timed(warm('stale')))
    }
    // The quickest of each is the one the rest of the machine disturbed least.
    const least = (runs: readonly Timed[], what: keyof Timed): number => Math.min(...runs.map((run) => run[what]))
    const ratio = (runs: readonly Timed[]): number =>
      Math.round((least(runs, 'ms') / least(times.bare, 'ms')) * 100) / 100
    return {
      warmExactRatio: ratio(times.exact),
      warmStaleRatio: ratio(times.stale),
      warmSequentialRoundTrips: Math.max(least(times.exact, 'roundTrips'), least(times.stale, 'roundTrips')),
    }
  } finally {
    await settleBackgroundBuilds()
    await proxy.close()
    await emulator.close()
    await git.close()
    await repository.remove()
  }
}

/** The refs of a repository in the form of git's smart protocol, version 0. */
async function advertise(path: string): Promise<Buffer> {
  const args = ['upload-pack', '--stateless-rpc', '--advertise-refs', path]
  const { stdout } = await promisify(execFile)('git', args, { encoding: 'buffer' })
  return Buffer.concat([Buffer.from('001e# service=git-upload-pack\n0000'), stdout])
}
