import type { BuildEvent, BuildStep, Found } from './build-events.ts'
import { isWorthAsking } from './code-classes.ts'
import { ResolutionError } from './errors.ts'
import { MOST_LOOKS } from './look-again.ts'
import type { BuildHandle } from './template-api.ts'
import { unreachable } from './unreachable.ts'

/** What is known before the first look. */
export interface BuildWish {
  readonly ref: string
  /** A ready build does not count: it was found unusable, or a fresh one is asked for. */
  readonly force: boolean
  /** Neither a failure the platform tells of nor one remembered here keeps the ref from being built. */
  readonly despiteFailure: boolean
  /** A failure of this process's that another build would probably repeat now. */
  readonly remembered: string | undefined
}

export interface BuildMemory extends BuildWish {
  readonly lease: 'unclaimed' | 'held' | 'taken'
  readonly failures: number
  /** Looks in a row that failed. */
  readonly blindLooks: number
  /** The failure to report if nothing else helps. */
  readonly last: ResolutionError | undefined
  /** A pause was made since the last failure. */
  readonly rested: boolean
  /** A build that somebody left unstarted was started here. Tried once: if it still waits, another one is requested. */
  readonly startedLeft: boolean
  /** `contested`: it was not known, and yet a request was refused as if it were somebody's. */
  readonly name: 'unknown' | 'known' | 'contested'
}

export const newBuildMemory = (wish: BuildWish): BuildMemory => ({
  ...wish,
  lease: 'unclaimed',
  failures: 0,
  blindLooks: 0,
  last: undefined,
  rested: true,
  startedLeft: false,
  name: 'known',
})

/** Failures of the platform's that are tried again before the ref counts as failed. */
export const MOST_FAILURES = 3

interface Next {
  readonly memory: BuildMemory
  readonly step: BuildStep
}

/**
 * How one ref gets a build, as a function from what happened to what to do next. Look first, so that a running build is
 * joined and never started twice; start only while the ref's lease is held and after looking with it; after every
 * failure look again, because somebody else's build may have replaced it.
 */
export function nextBuildStep(memory: BuildMemory, event: BuildEvent): Next {
  const { memory: after, step } = decide(memory, event)
  const keepsLease = step.do === 'look' || step.do === 'start'
  return { memory: keepsLease ? after : { ...after, lease: 'unclaimed' }, step }
}

/** The step after the first look, for whoever got the lease at once. */
export function firstBuildStep(wish: BuildWish, found: Found): BuildStep {
  const { memory } = nextBuildStep(newBuildMemory(wish), { kind: 'claimed' })
  return nextBuildStep(memory, { kind: 'found', found }).step
}

function decide(memory: BuildMemory, event: BuildEvent): Next {
  switch (event.kind) {
    case 'begun':
      return { memory, step: { do: 'claim' } }
    case 'lost':
      // Counted, so that two who go on outrunning each other come to an end.
      return { memory: { ...failedOnce(memory, outrun(memory.ref)), rested: true }, step: { do: 'claim' } }
    case 'claimed':
      return { memory: { ...memory, lease: 'held' }, step: { do: 'look' } }
    case 'taken':
      return { memory: { ...memory, lease: 'taken' }, step: { do: 'look' } }
    case 'paused':
      return { memory: { ...memory, rested: true }, step: { do: 'claim' } }
    case 'started':
      return { memory, step: { do: 'await', build: event.build, ours: true } }
    case 'found':
      return afterLook({ ...memory, blindLooks: 0 }, event.found)
    case 'refused':
      // It was started, and nobody can see it: another one could cancel it.
      return event.ours === true && isOutOfSight(event.failure)
        ? { memory, step: { do: 'fail', failure: event.failure } }
        : afterRefusal(memory, event.during, event.failure)
    case 'ready':
      return { memory, step: { do: 'finish', how: event.ours ? 'built' : 'joined' } }
    case 'failed':
      return afterFailedBuild(memory, event.failure)
    default:
      return unreachable(event)
  }
}

function afterLook(memory: BuildMemory, found: Found): Next {
  switch (found.kind) {
    case 'ready':
      // After a failure a ready build is news, whoever made it.
      return memory.force && memory.failures === 0
        ? startWithLease(memory)
        : { memory, step: { do: 'finish', how: 'joined' } }
    case 'running':
      if (found.startable === true && !memory.startedLeft) return startLeft(memory, found.build)
      if (found.ours && found.abandoned) {
        return startOrGiveUp(memory, isStartRepeatable(memory.last) ? found.build : undefined)
      }
      // Its start was refused, and still it waits.
      return found.abandoned || found.startable === true
        ? startOrGiveUp(memory)
        : { memory, step: { do: 'await', build: found.build, ours: found.ours } }
    case 'broken':
      return found.isFresh && isDeterred(memory)
        ? { memory, step: { do: 'fail', failure: backoff(memory.ref, found.failure) } }
        : startOrGiveUp(memory)
    case 'none':
      return afterFindingNone(memory, found.isNameKnown)
    default:
      return unreachable(found)
  }
}

/** Who registers a new name a moment after somebody else did is told that it is not theirs. By now it is. */
function afterFindingNone(memory: BuildMemory, isNameKnown: boolean): Next {
  if (memory.name === 'contested' && !isNameKnown && memory.last !== undefined) {
    return { memory, step: { do: 'fail', failure: memory.last } }
  }
  return startOrGiveUp({ ...memory, name: isNameKnown ? 'known' : 'unknown' })
}

/** Once a build was tried here, what the platform tells of is that build, or came after it. */
const isDeterred = ({ despiteFailure, force, failures }: BuildMemory): boolean =>
  !despiteFailure && !force && failures === 0

/** The files or the start did not arrive, so the build still waits for them; whatever else was answered is about it. */
const isStartRepeatable = (last: ResolutionError | undefined): boolean =>
  last !== undefined && (last.code === 'UPLOAD_FAILED' || isWorthAsking(last.code))

function startLeft(memory: BuildMemory, build: BuildHandle): Next {
  const next = startWithLease(memory, build)
  return next.step.do === 'start' ? { ...next, memory: { ...next.memory, startedLeft: true } } : next
}

function startOrGiveUp(memory: BuildMemory, registered?: BuildHandle): Next {
  const { failures, last, ref, remembered, rested } = memory
  if (failures >= MOST_FAILURES && last !== undefined) return { memory, step: { do: 'fail', failure: last } }
  if (!rested) return { memory, step: { do: 'pause', failures } }
  if (remembered !== undefined && isDeterred(memory)) {
    return { memory, step: { do: 'fail', failure: backoff(ref, { message: remembered }) } }
  }
  return startWithLease(memory, registered)
}

function startWithLease(memory: BuildMemory, registered?: BuildHandle): Next {
  switch (memory.lease) {
    case 'held':
      return { memory, step: registered === undefined ? { do: 'start' } : { do: 'start', registered } }
    case 'unclaimed':
      return { memory, step: { do: 'claim' } }
    case 'taken':
      return { memory, step: { do: 'pause', failures: 0 } }
    default:
      return unreachable(memory.lease)
  }
}

const backoff = (ref: string, { message, step }: { readonly message: string; readonly step?: string | undefined }) =>
  new ResolutionError({
    code: 'BUILD_BACKOFF',
    message: `'${ref}' is not built again yet: ${message}`,
    hint: 'It is tried again after a while, when the ref changes, or by an explicit refresh',
    step,
  })

const outrun = (ref: string): ResolutionError =>
  new ResolutionError({ code: 'CONFLICT', message: `Another build of '${ref}' was requested at the same time` })

/** A numbered step is the template's own: a further build would repeat it. Everything else is the platform's doing. */
function afterFailedBuild(memory: BuildMemory, failure: ResolutionError): Next {
  if (failure.code === 'BUILD_STEP_FAILED') return { memory, step: { do: 'fail', failure } }
  return { memory: failedOnce(memory, failure), step: { do: 'look' } }
}

const isOutOfSight = ({ code }: ResolutionError): boolean => code === 'NOT_FOUND' || code === 'BAD_REQUEST'

const failedOnce = (memory: BuildMemory, failure: ResolutionError): BuildMemory => ({
  ...memory,
  failures: memory.failures + 1,
  last: failure,
  rested: false,
})

/** Without knowing what runs, starting a build could kill somebody else's. */
function afterBlindLook(memory: BuildMemory, failure: ResolutionError): Next {
  const blindLooks = memory.blindLooks + 1
  return isWorthAsking(failure.code) && blindLooks < MOST_LOOKS
    ? { memory: { ...memory, blindLooks }, step: { do: 'pause', failures: blindLooks } }
    : { memory, step: { do: 'fail', failure, isBlind: true } }
}

function afterRefusal(
  memory: BuildMemory,
  during: 'look' | 'request' | 'start' | 'wait',
  failure: ResolutionError,
): Next {
  if (during === 'look') return afterBlindLook(memory, failure)
  switch (failure.code) {
    // A second try cannot change these.
    case 'MISSING_API_KEY':
    case 'AUTHENTICATION':
    case 'INVALID_SPEC':
    case 'BUILD_STEP_FAILED':
    case 'QUOTA_EXCEEDED':
    case 'RATE_LIMITED':
      return { memory, step: { do: 'fail', failure } }
    // Losing a race answers with either of these; what runs now decides, and without a rival they are final.
    case 'FORBIDDEN':
    case 'BAD_REQUEST': {
      // A name that is somebody else's shows at the request. Later it is the account.
      if (failure.code === 'FORBIDDEN' && during !== 'request') return { memory, step: { do: 'fail', failure } }
      if (during !== 'request') return { memory: failedOnce(memory, failure), step: { do: 'look' } }
      const isContested = failure.code === 'FORBIDDEN' && memory.name === 'unknown'
      const name = isContested ? 'contested' : memory.name
      const failures = isContested ? memory.failures + 1 : MOST_FAILURES
      return { memory: { ...memory, name, failures, last: failure, rested: false }, step: { do: 'look' } }
    }
    case 'NOT_FOUND':
    case 'CONFLICT':
    case 'SERVICE_BUSY':
    case 'PLATFORM':
    case 'NETWORK':
    case 'UPLOAD_FAILED':
    case 'REQUEST_TIMEOUT':
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
