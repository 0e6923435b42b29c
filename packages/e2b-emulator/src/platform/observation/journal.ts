import type { MachineUsage } from '../../runtime/port.ts'
import type { Schemas } from '../contract.ts'

/** What was seen of one sandbox. It outlives the sandbox, so that its logs can be read afterwards. */
export interface SandboxJournal {
  /** Oldest first. */
  readonly entries: JournalEntry[]
  /** Oldest first. One is taken whenever metrics are asked for. */
  readonly samples: UsageSample[]
  /** Processor time as of the last sample, or of the start of the machine. */
  lastReading: { readonly at: number; readonly cpuTimeMs: number }
  ended: boolean
}

export interface JournalEntry {
  readonly at: number
  readonly level: Schemas['LogLevel']
  readonly message: string
  readonly fields: Readonly<Record<string, string>>
}

export interface UsageSample {
  readonly at: number
  /** Of the processors the sandbox was given, since the sample before. */
  readonly cpuUsedPct: number
  readonly usage: MachineUsage
}

/** Sandboxes that began or ceased to run, oldest first. */
export interface ActivityEntry {
  readonly at: number
  /** Sandboxes that run from then on. */
  readonly running: number
  readonly started: boolean
}

export type Journals = Map<string, SandboxJournal>

/** Enough for a person to read, little enough to keep for many sandboxes. */
const MAX_ENTRIES = 1000
const MAX_JOURNALS = 1000

/** Appends, and forgets the oldest beyond the limit. */
export function appendCapped<T>(list: T[], entry: T): void {
  list.push(entry)
  if (list.length > MAX_ENTRIES) list.shift()
}

/** The journal of a sandbox, opened where there is none. Those of sandboxes long gone make room. */
export function journalOf(journals: Journals, sandboxId: string, now: number): SandboxJournal {
  const known = journals.get(sandboxId)
  if (known !== undefined) return known
  const opened = { entries: [], samples: [], lastReading: { at: now, cpuTimeMs: 0 }, ended: false }
  journals.set(sandboxId, opened)
  const oldest = journals.size > MAX_JOURNALS ? [...journals].find(([, { ended }]) => ended) : undefined
  if (oldest !== undefined) journals.delete(oldest[0])
  return opened
}
