import type { ResolutionError } from './errors.ts'
import type { BuildHandle } from './template-api.ts'
import { unreachable } from './unreachable.ts'

/**
 * How one ref gets a build, as a function from what happened to what to do next. First look, so that a running build is
 * joined and never started twice; after every failure look again, because somebody else's build may have replaced it.
 */
export type BuildStep =
  /** Read the newest build of the ref and its state. */
  | { readonly do: 'look' }
  /** Wait for a build. `ours`: it was requested here. */
  | { readonly do: 'await'; readonly build: BuildHandle; readonly ours: boolean }
  /** Request and start a build. */
  | { readonly do: 'start' }
  /** Wait a moment, then look again. */
  | { readonly do: 'pause'; readonly failures: number }
  | { readonly do: 'finish'; readonly how: 'built' | 'joined' }
  | { readonly do: 'fail'; readonly failure: ResolutionError }

/** The newest build of the ref. */
export type Found =
  | { readonly kind: 'none' }
  | { readonly kind: 'ready' }
  | { readonly kind: 'running'; readonly build: BuildHandle; readonly ours: boolean; readonly abandoned: boolean }

export type BuildEvent =
  | { readonly kind: 'begun' }
  | { readonly kind: 'found'; readonly found: Found }
  | { readonly kind: 'started'; readonly build: BuildHandle }
  | { readonly kind: 'paused' }
  /** Requesting, starting, looking or reading the state was answered with an error. */
  | {
      readonly kind: 'refused'
      readonly during: 'look' | 'request' | 'start' | 'wait'
      readonly failure: ResolutionError
    }
  | { readonly kind: 'ready'; readonly ours: boolean }
  | { readonly kind: 'failed'; readonly failure: ResolutionError }

export interface BuildMemory {
  /** A ready build does not count: it was found unusable, or a fresh one is asked for. */
  readonly force: boolean
  readonly failures: number
  /** The failure to report if nothing else helps. */
  readonly last: ResolutionError | undefined
  /** A pause was made since the last failure. */
  readonly rested: boolean
}

export const newBuildMemory = (force: boolean): BuildMemory => ({ force, failures: 0, last: undefined, rested: true })

/** Failures of the platform's that are tried again before the ref counts as failed. */
export const MOST_FAILURES = 3

/** What the event means, and what to do about it. */
export function nextBuildStep(memory: BuildMemory, event: BuildEvent): { memory: BuildMemory; step: BuildStep } {
  const stay = (step: BuildStep) => ({ memory, step })
  switch (event.kind) {
    case 'begun':
      return stay({ do: 'look' })
    case 'paused':
      return { memory: { ...memory, rested: true }, step: { do: 'look' } }
    case 'started':
      return stay({ do: 'await', build: event.build, ours: true })
    case 'found':
      return stay(afterLook(memory, event.found))
    case 'refused':
      return afterRefusal(memory, event.during, event.failure)
    case 'ready':
      return stay({ do: 'finish', how: event.ours ? 'built' : 'joined' })
    case 'failed':
      return afterFailedBuild(memory, event.failure)
    default:
      return unreachable(event)
  }
}

function afterLook(memory: BuildMemory, found: Found): BuildStep {
  switch (found.kind) {
    case 'ready':
      // After a failure a ready build is news, whoever made it.
      return memory.force && memory.failures === 0 ? { do: 'start' } : { do: 'finish', how: 'joined' }
    case 'running':
      return found.abandoned ? startOrGiveUp(memory) : { do: 'await', build: found.build, ours: found.ours }
    case 'none':
      return startOrGiveUp(memory)
    default:
      return unreachable(found)
  }
}

function startOrGiveUp({ failures, last, rested }: BuildMemory): BuildStep {
  if (failures >= MOST_FAILURES && last !== undefined) return { do: 'fail', failure: last }
  return rested ? { do: 'start' } : { do: 'pause', failures }
}

/** A numbered step is the template's own: a further build would repeat it. Everything else is the platform's doing. */
function afterFailedBuild(memory: BuildMemory, failure: ResolutionError): { memory: BuildMemory; step: BuildStep } {
  if (failure.code === 'BUILD_STEP_FAILED') return { memory, step: { do: 'fail', failure } }
  return { memory: failedOnce(memory, failure), step: { do: 'look' } }
}

const failedOnce = (memory: BuildMemory, failure: ResolutionError): BuildMemory => ({
  ...memory,
  failures: memory.failures + 1,
  last: failure,
  rested: false,
})

function afterRefusal(
  memory: BuildMemory,
  during: 'look' | 'request' | 'start' | 'wait',
  failure: ResolutionError,
): { memory: BuildMemory; step: BuildStep } {
  // Without knowing what runs, starting a build could kill somebody else's.
  if (during === 'look') return { memory, step: { do: 'fail', failure } }
  switch (failure.code) {
    // A second try cannot change these.
    case 'MISSING_API_KEY':
    case 'AUTHENTICATION':
    case 'INVALID_SPEC':
    case 'UPLOAD_FAILED':
    case 'QUOTA_EXCEEDED':
    case 'RATE_LIMITED':
      return { memory, step: { do: 'fail', failure } }
    // Losing a race answers with either of these; what runs now decides, and without a rival they are final.
    case 'FORBIDDEN':
    case 'BAD_REQUEST':
      if (during === 'request') {
        return { memory: { ...memory, failures: MOST_FAILURES, last: failure, rested: false }, step: { do: 'look' } }
      }
      return { memory: failedOnce(memory, failure), step: { do: 'look' } }
    case 'NOT_FOUND':
    case 'CONFLICT':
    case 'SERVICE_BUSY':
    case 'PLATFORM':
    case 'NETWORK':
    case 'REQUEST_TIMEOUT':
    case 'BUILD_STEP_FAILED':
    case 'BUILD_FAILED':
    case 'BUILD_TIMEOUT':
    case 'BUILD_BACKOFF':
    case 'INVALID_SHELL_WORD':
    case 'TEMPLATE_UNUSABLE':
    case 'TEMPLATE_FOREIGN':
    case 'TEMPLATE_MISSING':
    case 'ACCESS_REFUSED':
    case 'LADDER_EXHAUSTED':
      return { memory: failedOnce(memory, failure), step: { do: 'look' } }
    default:
      return unreachable(failure.code)
  }
}
