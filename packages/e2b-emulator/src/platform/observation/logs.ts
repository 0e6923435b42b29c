import { notFound } from '../api-error.ts'
import type { Schemas } from '../contract.ts'
import { atLeast } from '../log-level.ts'
import { isoTime, type Platform } from '../platform.ts'
import { integerQuery } from '../query.ts'
import { route } from '../route.ts'
import type { JournalEntry, SandboxJournal } from './journal.ts'

const PAGE = { minimum: 0, maximum: 1000 }
const GAP = 'starts and ends of machine and processes; no output of processes'

export const sandboxLogs = route('get', '/v2/sandboxes/{sandboxID}/logs', {
  gap: GAP,
  handle(platform, { parameter, query, reply }) {
    const { entries } = findJournal(platform, parameter('sandboxID'))
    const cursor = integerQuery('cursor', query('cursor'), { minimum: 0 })
    const forward = query('direction') !== 'backward'
    const search = query('search') ?? ''
    const wanted = entries
      .filter(atLeast(query('level')))
      .filter(({ at }) => cursor === undefined || (forward ? at >= cursor : at <= cursor))
      .filter(({ message }) => message.includes(search))
    const ordered = forward ? wanted : wanted.toReversed()
    const limit = integerQuery('limit', query('limit'), PAGE) ?? PAGE.maximum
    return reply(200, { logs: ordered.slice(0, limit).map(describe) })
  },
})

/** The older call: each entry as a line of JSON too. */
export const sandboxLogsV1 = route('get', '/sandboxes/{sandboxID}/logs', {
  gap: GAP,
  handle(platform, { parameter, query, reply }) {
    const { entries } = findJournal(platform, parameter('sandboxID'))
    const start = integerQuery('start', query('start'), { minimum: 0 }) ?? 0
    const limit = integerQuery('limit', query('limit'), PAGE) ?? PAGE.maximum
    const logEntries = entries
      .filter(({ at }) => at >= start)
      .slice(0, limit)
      .map(describe)
    const logs = logEntries.map((entry) => ({ timestamp: entry.timestamp, line: JSON.stringify(entry) }))
    return reply(200, { logs, logEntries })
  },
})

/** Of a sandbox that runs, is paused, or is gone. */
export function findJournal(platform: Platform, sandboxId: string): SandboxJournal {
  const journal = platform.state.journals.get(sandboxId)
  if (journal === undefined) throw notFound(`Sandbox '${sandboxId}' not found`)
  return journal
}

const describe = ({ at, level, message, fields }: JournalEntry): Schemas['SandboxLogEntry'] => ({
  timestamp: isoTime(at),
  level,
  message,
  fields: { ...fields },
})
