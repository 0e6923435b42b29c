import { pause, type Clock } from './clock.ts'
import { unreachable } from './unreachable.ts'

/** What goes wrong, as data. Faults are asked in order; the first that matches is taken. */
export interface Fault {
  readonly match: FaultMatch
  /** How many matching requests pass before it strikes. Default 0. */
  readonly skip?: number
  /** How often it strikes. Default 1. */
  readonly times?: number
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

/** The connection is to be dropped without an answer. Shells turn it into what their caller sees when that happens. */
export class ConnectionReset extends Error {
  constructor(message = 'connection reset') {
    super(message)
    this.name = 'ConnectionReset'
  }
}

/** The faults in force. */
export class FaultList {
  #active: { readonly fault: Fault; passed: number; struck: number }[]

  constructor(faults: readonly Fault[]) {
    this.#active = faults.map((fault) => ({ fault, passed: 0, struck: 0 }))
  }

  /** Adds a fault; the returned function withdraws it. */
  add(fault: Fault): () => void {
    const entry = { fault, passed: 0, struck: 0 }
    this.#active.push(entry)
    return () => {
      this.#active = this.#active.filter((candidate) => candidate !== entry)
    }
  }

  /** The effect on this request, if any, counted as used. */
  take(request: { readonly method: string; readonly path: string; readonly plane: Plane }): FaultEffect | undefined {
    for (const entry of this.#active) {
      const { match, skip = 0, times = 1, effect } = entry.fault
      if (!matches(match, request)) continue
      if (entry.passed < skip) {
        entry.passed += 1
        continue
      }
      if (entry.struck >= times) continue
      entry.struck += 1
      return effect
    }
    return undefined
  }
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
      return Response.json({ code: status, message }, { status, headers })
    }
    case 'delay':
      await pause(world.clock, effect.ms, world.signal)
      return respond()
    case 'reset': {
      if (effect.when === 'after') await (await respond()).body?.cancel()
      throw new ConnectionReset('injected fault: connection reset')
    }
    default:
      return unreachable(effect)
  }
}
