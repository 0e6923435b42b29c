import type { Chance } from './chance.ts'
import { pause, type Clock } from './clock.ts'
import { cutAfter } from './cut-stream.ts'
import { EmulatorError } from './errors.ts'
import { problemOfFault } from './fault-checks.ts'
import type { Fault, FaultEffect, FaultMatch, Plane } from './fault.ts'
import { unreachable } from './unreachable.ts'

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
