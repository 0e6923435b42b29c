import type { Printer } from './printer.ts'
import { seconds } from './relay.ts'
import type { WalkSummary } from './walk.ts'

/** The walk as a table, for a person. */
export function tellSummary(printer: Printer, { sessions, tokenLeaks }: WalkSummary): void {
  const worked = sessions.filter(({ ok }) => ok).length
  printer.heading(`${worked} of ${sessions.length} sessions worked; traces of the token found: ${tokenLeaks}`)
  printer.log(row('session', 'rung', 'started in', 'commit'))
  for (const { name, rung, startMs, sha } of sessions) {
    printer.log(row(name, rung ?? 'none', seconds(startMs), sha?.slice(0, 8) ?? 'none'))
  }
}

const row = (name: string, rung: string, started: string, commit: string): string =>
  `${name.padEnd(16)}${rung.padEnd(12)}${started.padStart(10)}    ${commit}`
