import type { Chance } from './chance.ts'
import { pause, type Clock } from './clock.ts'
import { cutAfter, type StreamCut } from './cut-stream.ts'
import { EmulatorError } from './errors.ts'
import { problemOfFault } from './fault-checks.ts'
import { unreachable } from './unreachable.ts'

/** What goes wrong, as data. Faults are asked in order; the first that matches is taken. */
export interface Fault {
  readonly match: FaultMatch
  /** How many matching requests pass before it strikes. Default 0. */
  readonly skip?: number
  /** How often it strikes. Default 1. */
  readonly times?: number
  /**
   * How likely it strikes a request it could, above 0 and up to 1; one it spares is left to the faults after it. The
   * same requests in the same order are struck on each run with the same `seed` of the emulator. Default 1.
   */
  readonly probability?: number
  readonly effect: FaultEffect
}

/** Every given field must match. */
export interface FaultMatch {
  /** Upper case. Default: any. */
  readonly method?: string
  /** The whole path, or a pattern to be found in it. Default: any. */
  readonly path?: string | RegExp
  /** Default: all. */
  readonly plane?: Plane
}

/** The control plane, the daemon in sandboxes, or another port of one. */
export type Plane = 'control' | 'envd' | 'port'

export type FaultEffect =
  /** Answers in place of the emulator, in the platform's error shape. */
  | {
      readonly kind: 'answer'
      readonly status: number
      readonly message?: string
      readonly headers?: Readonly<Record<string, string>>
    }
  /** Answers as usual, later. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** Drops the connection: `before` the request takes effect, or `after`, so that only its answer is lost. Default `before`. */
  | { readonly kind: 'reset'; readonly when?: 'before' | 'after' }
  /**
   * Answers as usual and breaks the body off: after so many bytes, or after so many messages of a stream of the daemon
   * (of a command: its start, its output, its end). An answer that is shorter ends as usual.
   */
  | { readonly kind: 'drop-stream'; readonly after: StreamCut }

/** The connection is to be dropped without an answer. Shells turn it into what their caller sees when that happens. */
export class ConnectionReset extends Error {
  constructor(message = 'connection reset') {
    super(message)
    this.name = 'ConnectionReset'
  }
}

interface ActiveFault {
  readonly fault: Fault
  passed: number
  struck: number
}

/** The faults in force. Throws `INVALID_OPTION` for one that could never be meant. */
export class FaultList {
  readonly #chance: Chance
  #active: ActiveFault[]

  constructor(faults: readonly Fault[], chance: Chance) {
    this.#chance = chance
    this.#active = faults.map(activate)
  }

  /** Adds a fault; the returned function withdraws it. */
  add(fault: Fault): () => void {
    const entry = activate(fault)
    this.#active.push(entry)
    return () => {
      this.#active = this.#active.filter((candidate) => candidate !== entry)
    }
  }

  /** The effect on this request, if any, counted as used. */
  take(request: { readonly method: string; readonly path: string; readonly plane: Plane }): FaultEffect | undefined {
    for (const entry of this.#active) {
      const { match, skip = 0, times = 1, probability = 1, effect } = entry.fault
      if (!matches(match, request)) continue
      if (entry.passed < skip) {
        entry.passed += 1
        continue
      }
      if (entry.struck >= times) continue
      if (probability < 1 && this.#chance() >= probability) continue
      entry.struck += 1
      return effect
    }
    return undefined
  }
}

function activate(fault: Fault): ActiveFault {
  const problem = problemOfFault(fault)
  if (problem !== undefined) throw new EmulatorError('INVALID_OPTION', `faults: a fault ${problem}`)
  return { fault, passed: 0, struck: 0 }
}

function matches(match: FaultMatch, request: { method: string; path: string; plane: Plane }): boolean {
  const { method, path, plane } = match
  return (
    (method === undefined || method === request.method) &&
    (plane === undefined || plane === request.plane) &&
    (path === undefined || (typeof path === 'string' ? path === request.path : request.path.search(path) !== -1))
  )
}

/** Answers a request under an effect. `respond` is the emulator itself. */
export async function answerUnder(
  effect: FaultEffect | undefined,
  respond: () => Promise<Response>,
  world: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<Response> {
  switch (effect?.kind) {
    case undefined:
      return respond()
    case 'answer': {
      const { status, message = 'injected fault', headers = {} } = effect
      // Statuses that never have a body take none.
      if (status === 204 || status === 205 || status === 304) return new Response(null, { status, headers })
      return Response.json({ code: status, message }, { status, headers })
    }
    case 'delay':
      await pause(world.clock, effect.ms, world.signal)
      return respond()
    case 'reset': {
      if (effect.when === 'after') await (await respond()).body?.cancel()
      throw new ConnectionReset('injected fault: connection reset')
    }
    case 'drop-stream':
      return cutAfter(await respond(), effect.after)
    default:
      return unreachable(effect)
  }
}
