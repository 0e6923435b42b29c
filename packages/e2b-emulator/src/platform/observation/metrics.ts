import { badRequest } from '../api-error.ts'
import type { Schemas } from '../contract.ts'
import { isoTime, type Platform } from '../platform.ts'
import { integerQuery } from '../query.ts'
import { route } from '../route.ts'
import type { SandboxRecord } from '../state.ts'
import { appendCapped, type UsageSample } from './journal.ts'
import { findJournal } from './logs.ts'

const MEBIBYTE = 1024 * 1024
const MAX_SANDBOXES = 100
const GAP = 'measured when asked for, and by the real runtime alone; the page cache is not'

/** The samples of an interval, the newest of which is taken now. None where nothing can be measured. */
export const sandboxMetrics = route('get', '/sandboxes/{sandboxID}/metrics', {
  gap: GAP,
  async handle(platform, { parameter, query, reply }) {
    const id = parameter('sandboxID')
    const start = integerQuery('start', query('start'), { minimum: 0 }) ?? 0
    const end = integerQuery('end', query('end'), { minimum: 0 }) ?? Number.MAX_SAFE_INTEGER
    if (end < start) throw badRequest('end must not be before start')
    const { samples } = findJournal(platform, id)
    const sandbox = platform.state.sandboxes.get(id)
    if (sandbox === undefined) return reply(200, [])
    await measure(platform, sandbox)
    const within = samples.filter(({ at }) => unixTime(at) >= start && unixTime(at) <= end)
    return reply(
      200,
      within.map((sample) => describe(sandbox, sample)),
    )
  },
})

/** The newest sample of each sandbox named; those that have none are left out. */
export const sandboxesMetrics = route('get', '/sandboxes/metrics', {
  gap: GAP,
  async handle(platform, { query, reply }) {
    const ids = [...new Set((query('sandbox_ids') ?? '').split(',').filter((id) => id !== ''))]
    if (ids.length === 0) {
      throw badRequest('validation error: parameter "sandbox_ids" in query has an error: value is required')
    }
    if (ids.length > MAX_SANDBOXES) throw badRequest(`Too many sandbox IDs, maximum is ${MAX_SANDBOXES}`)
    const found = ids.flatMap((id) => platform.state.sandboxes.get(id) ?? [])
    const measured = await Promise.all(
      found.map(async (sandbox) => [sandbox, await measure(platform, sandbox)] as const),
    )
    const sandboxes = measured.flatMap(([sandbox, sample]) =>
      sample === undefined ? [] : [[sandbox.id, describe(sandbox, sample)] as const],
    )
    return reply(200, { sandboxes: Object.fromEntries(sandboxes) })
  },
})

/** Takes a sample of a sandbox that runs; of any other, and where nothing can be measured, the last there was. */
async function measure(platform: Platform, sandbox: SandboxRecord): Promise<UsageSample | undefined> {
  const journal = findJournal(platform, sandbox.id)
  const { phase } = sandbox
  const usage = phase.name === 'running' ? await phase.machine.usage() : undefined
  if (usage === undefined) return journal.samples.at(-1)
  const { lastReading } = journal
  const at = platform.clock.now()
  const elapsed = (at - lastReading.at) * sandbox.cpuCount
  const used = usage.cpuTimeMs - lastReading.cpuTimeMs
  const sample = { at, usage, cpuUsedPct: elapsed > 0 ? (used / elapsed) * 100 : 0 }
  journal.lastReading = { at, cpuTimeMs: usage.cpuTimeMs }
  appendCapped(journal.samples, sample)
  return sample
}

const unixTime = (milliseconds: number) => Math.floor(milliseconds / 1000)

const describe = (
  { cpuCount, memoryMB }: SandboxRecord,
  { at, cpuUsedPct, usage }: UsageSample,
): Schemas['SandboxMetric'] => ({
  timestamp: isoTime(at),
  timestampUnix: unixTime(at),
  cpuCount,
  cpuUsedPct,
  memUsed: usage.memoryBytes,
  memTotal: memoryMB * MEBIBYTE,
  memCache: 0,
  diskUsed: usage.disk.usedBytes,
  diskTotal: usage.disk.totalBytes,
})
