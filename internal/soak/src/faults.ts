import type { Emulator, Fault } from '@warmbox/e2b-emulator'
import { countSandboxes, runTasks, withEmulator } from './emulated.ts'
import type { WorkerResult } from './messages.ts'
import { seededRandom } from './random.ts'

const CONCURRENCY = 40
const BUILD_MS = 50
/** One request of so many meets a fault. */
const REQUESTS_PER_FAULT = 12
/** Faults that wait for their request at any time. */
const FAULTS_AHEAD = 50
const ROUND_MS = 50

/** What can go wrong with any request. A hang outlasts the patience of every client; a slow answer does not. */
const EFFECTS: readonly Fault['effect'][] = [
  { kind: 'answer', status: 401, message: 'invalid key' },
  { kind: 'answer', status: 409, message: 'conflict' },
  { kind: 'answer', status: 429, message: 'too many' },
  { kind: 'answer', status: 429, message: 'rate limit', headers: { 'Retry-After': '0' } },
  { kind: 'answer', status: 500, message: 'internal' },
  { kind: 'answer', status: 503, message: 'no capacity' },
  { kind: 'reset', when: 'before' },
  { kind: 'reset', when: 'after' },
  { kind: 'delay', ms: 3_000 },
  { kind: 'delay', ms: 200 },
]

/** That a sandbox does not exist is said of no sandbox that does: whoever believes it leaves that one behind. */
const NOT_FOUND: Pick<Fault, 'match' | 'effect'> = {
  match: { plane: 'control', path: /^(?!.*\/sandboxes\/)/ },
  effect: { kind: 'answer', status: 404, message: 'not found' },
}

const FAULTS: readonly Pick<Fault, 'match' | 'effect'>[] = [
  NOT_FOUND,
  ...EFFECTS.map((effect) => ({ match: { plane: 'control' as const }, effect })),
]

/** Keeps random faults ahead of the requests until stopped. */
function strewFaults({ control }: Emulator, seed: number): () => void {
  const random = seededRandom(seed)
  const pending: (() => void)[] = []
  const strew = (): void => {
    for (const withdraw of pending.splice(0)) withdraw()
    let skip = 0
    for (let ahead = 0; ahead < FAULTS_AHEAD; ahead += 1) {
      skip += Math.floor(random() * 2 * REQUESTS_PER_FAULT)
      const fault = FAULTS[Math.floor(random() * FAULTS.length)]
      if (fault !== undefined) pending.push(control.fault({ ...fault, skip }))
    }
  }
  strew()
  const timer = setInterval(strew, ROUND_MS)
  return () => {
    clearInterval(timer)
    for (const withdraw of pending.splice(0)) withdraw()
  }
}

/** Starts sessions in one process while requests fail at random. `left`: sandboxes that nobody destroyed. */
export const runFaults = (starts: number, seed: number): Promise<WorkerResult & { readonly left: number }> =>
  withEmulator(BUILD_MS, async (emulator, connection) => {
    const stop = strewFaults(emulator, seed)
    try {
      const task = { kind: 'faults' as const, connection, starts, concurrency: CONCURRENCY, seed }
      const result = await runTasks([task], { head: () => '', sandboxes: (id) => countSandboxes(emulator, id) })
      return { ...result, left: emulator.control.sandboxes().length }
    } finally {
      stop()
    }
  })
