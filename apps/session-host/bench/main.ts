/** Times the walk of the demo and warm starts, and prints the figures as one JSON object on the last line. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

import type { WalkSummary } from '../src/walk.ts'
import { measureWarmStarts } from './warm-start.ts'

const { stdout } = await promisify(execFile)(
  process.execPath,
  [join(import.meta.dirname, '../src/main.ts'), '--json'],
  { maxBuffer: 64 * 1024 * 1024 },
)
const summary: WalkSummary = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')
const startOf = (name: string): number => {
  const session = summary.sessions.find((candidate) => candidate.name === name)
  if (session === undefined) throw new Error(`The walk has no session named ${name}`)
  return session.startMs
}
const demo = { demoColdStartMs: startOf('cold start'), demoWarmStartMs: startOf('warm start') }
console.log(JSON.stringify({ ...demo, ...(await measureWarmStarts()) }))
