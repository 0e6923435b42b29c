import { ResolutionError, type ResolutionErrorCode } from '@warmbox/resolution'
import { describe, expect, test } from 'vitest'
import type { BuildEvent } from '../src/build-events.ts'
import { type BuildMemory, type BuildWish, MOST_FAILURES, newBuildMemory, nextBuildStep } from '../src/build-policy.ts'

const build = { templateId: 't', buildId: 'b' }
const error = (code: ResolutionErrorCode): ResolutionError => new ResolutionError({ code, message: code })
const running = (ours: boolean, abandoned = false): BuildEvent => ({
  kind: 'found',
  found: { kind: 'running', build, ours, abandoned },
})
const none: BuildEvent = { kind: 'found', found: { kind: 'none', isNameKnown: true } }
const nameless: BuildEvent = { kind: 'found', found: { kind: 'none', isNameKnown: false } }
const broken = (isFresh: boolean): BuildEvent => ({
  kind: 'found',
  found: { kind: 'broken', failure: error('BUILD_STEP_FAILED'), isFresh },
})
const claimed: BuildEvent = { kind: 'claimed' }
const taken: BuildEvent = { kind: 'taken' }
const lost: BuildEvent = { kind: 'lost' }
const paused: BuildEvent = { kind: 'paused' }
const ready: BuildEvent = { kind: 'found', found: { kind: 'ready' } }
const refused = (during: 'look' | 'request' | 'start' | 'wait', code: ResolutionErrorCode): BuildEvent => ({
  kind: 'refused',
  during,
  failure: error(code),
})

const newMemory = () => newBuildMemory({ ref: 'n:t', force: false, despiteFailure: false, remembered: undefined })

/** The steps taken for a series of events. */
function stepsFor(events: readonly BuildEvent[], wish: Partial<BuildWish> = {}) {
  let memory: BuildMemory = newBuildMemory({
    ref: 'n:t',
    force: false,
    despiteFailure: false,
    remembered: undefined,
    ...wish,
  })
  return events.map((event) => {
    const next = nextBuildStep(memory, event)
    memory = next.memory
    return next.step
  })
}
const lastFor = (events: readonly BuildEvent[], wish?: Partial<BuildWish>) => stepsFor(events, wish).at(-1)

describe('before anything is started', () => {
  test('it claims the lease and looks with it, or without where it is taken', () => {
    expect(stepsFor([{ kind: 'begun' }, claimed])).toEqual([{ do: 'claim' }, { do: 'look' }])
    expect(lastFor([taken])).toEqual({ do: 'look' })
  })

  test.each<[string, BuildEvent, object]>([
    ['nothing there: start', none, { do: 'start' }],
    ['ready by now: done', ready, { do: 'finish', how: 'joined' }],
    ['running: wait for it', running(false), { do: 'await', build, ours: false }],
    ['abandoned: start', running(false, true), { do: 'start' }],
    ['failed some time ago: start', broken(false), { do: 'start' }],
    ['failed lately: leave it', broken(true), { do: 'fail', failure: { code: 'BUILD_BACKOFF' } }],
  ])('%s', (_state, event, step) => {
    expect(lastFor([claimed, event])).toMatchObject(step)
  })

  test('cannot look: look again after a rest, and never start without, since that could kill another', () => {
    const blind = refused('look', 'NETWORK')
    const steps = stepsFor([claimed, blind, paused, claimed, blind, paused, claimed, blind])
    expect(steps).toMatchObject([
      { do: 'look' },
      { do: 'pause', failures: 1 },
      { do: 'claim' },
      { do: 'look' },
      { do: 'pause', failures: 2 },
      { do: 'claim' },
      { do: 'look' },
      { do: 'fail', failure: { code: 'NETWORK' }, isBlind: true },
    ])
    expect(lastFor([claimed, blind, paused, claimed, none])).toEqual({ do: 'start' })
    // Only those in a row count.
    expect(lastFor([claimed, blind, paused, claimed, running(false), blind, blind])).toMatchObject({ do: 'pause' })
  })

  test.each(['AUTHENTICATION', 'FORBIDDEN', 'QUOTA_EXCEEDED', 'RATE_LIMITED', 'BAD_REQUEST'] as const)(
    'a look that is answered with %s is not repeated',
    (code) => {
      expect(lastFor([claimed, refused('look', code)])).toMatchObject({ do: 'fail', isBlind: true })
    },
  )

  test.each<[string, BuildEvent]>([
    ['nothing there', none],
    ['abandoned', running(false, true)],
    ['failed some time ago', broken(false)],
  ])('%s, and somebody else holds the lease: wait for it, never start without', (_state, event) => {
    expect(stepsFor([taken, event, paused])).toEqual([{ do: 'look' }, { do: 'pause', failures: 0 }, { do: 'claim' }])
  })

  test('left unstarted: that build is started, once; if it waits all the same, another one is requested', () => {
    const left: BuildEvent = {
      kind: 'found',
      found: { kind: 'running', build, ours: false, abandoned: false, startable: true },
    }
    expect(lastFor([claimed, left])).toEqual({ do: 'start', registered: build })
    expect(lastFor([claimed, left, refused('start', 'BAD_REQUEST'), left, paused, claimed, left])).toEqual({
      do: 'start',
    })
    expect(lastFor([taken, left])).toEqual({ do: 'pause', failures: 0 })
  })

  test.each(['UPLOAD_FAILED', 'SERVICE_BUSY', 'PLATFORM', 'NETWORK', 'REQUEST_TIMEOUT'] as const)(
    'ours, and neither its files nor its start arrived (%s): that same build is started again, never awaited',
    (code) => {
      const round = [refused('start', code), running(true, true), paused, claimed, running(true, true)]
      expect(stepsFor([claimed, none, ...round]).slice(2)).toMatchObject([
        { do: 'look' },
        { do: 'pause', failures: 1 },
        { do: 'claim' },
        { do: 'look' },
        { do: 'start', registered: build },
      ])
      const last = refused('start', code)
      expect(lastFor([claimed, none, ...round, ...round, last, running(true, true)])).toMatchObject({
        do: 'fail',
        failure: { code },
      })
    },
  )

  test('ours, and its start was refused for what it is: another one is requested', () => {
    const events = [refused('start', 'BAD_REQUEST'), running(true, true), paused, claimed, running(true, true)]
    expect(lastFor([claimed, none, ...events])).toEqual({ do: 'start' })
  })

  test('an account that may not start a build is not asked again', () => {
    expect(lastFor([claimed, none, refused('start', 'FORBIDDEN')])).toMatchObject({ do: 'fail' })
  })

  test('a build of ours that nobody can see is not made again', () => {
    const unseen: BuildEvent = { kind: 'refused', during: 'wait', failure: error('NOT_FOUND'), ours: true }
    expect(lastFor([claimed, none, { kind: 'started', build }, unseen])).toMatchObject({ do: 'fail' })
    expect(lastFor([claimed, running(false), { ...unseen, ours: false }])).toEqual({ do: 'look' })
  })

  test('running, and somebody else holds the lease: is joined all the same', () => {
    expect(lastFor([taken, running(false)])).toMatchObject({ do: 'await', ours: false })
  })

  test('the lease is given up with the first step that does not need it', () => {
    const give = nextBuildStep({ ...newMemory(), lease: 'held' }, running(false))
    expect(give).toMatchObject({ memory: { lease: 'unclaimed' }, step: { do: 'await' } })
    const keep = nextBuildStep({ ...newMemory(), lease: 'held' }, none)
    expect(keep).toMatchObject({ memory: { lease: 'held' }, step: { do: 'start' } })
  })

  test('the lease is lost before the start: claim it again', () => {
    expect(stepsFor([claimed, none, lost])).toEqual([{ do: 'look' }, { do: 'start' }, { do: 'claim' }])
  })

  test('forced: neither a ready build nor a failed one counts, a running one does', () => {
    expect(lastFor([claimed, ready], { force: true })).toEqual({ do: 'start' })
    expect(lastFor([claimed, broken(true)], { force: true })).toEqual({ do: 'start' })
    expect(lastFor([claimed, running(false)], { force: true })).toMatchObject({ do: 'await' })
  })

  test('a remembered failure keeps it from starting, not from joining or using what is there', () => {
    const wish = { remembered: 'no luck' }
    const message = "'n:t' is not built again yet: no luck"
    expect(lastFor([claimed, none], wish)).toMatchObject({ do: 'fail', failure: { code: 'BUILD_BACKOFF', message } })
    expect(lastFor([claimed, broken(false)], wish)).toMatchObject({ do: 'fail', failure: { message } })
    expect(lastFor([claimed, running(false)], wish)).toMatchObject({ do: 'await' })
    expect(lastFor([claimed, ready], wish)).toEqual({ do: 'finish', how: 'joined' })
  })

  test('despite failures: none of them counts', () => {
    const wish = { remembered: 'no luck', despiteFailure: true }
    expect(lastFor([claimed, none], wish)).toEqual({ do: 'start' })
    expect(lastFor([claimed, broken(true)], wish)).toEqual({ do: 'start' })
  })
})

describe('a build', () => {
  test('of ours that is ready was built, another was joined', () => {
    expect(lastFor([{ kind: 'ready', ours: true }])).toEqual({ do: 'finish', how: 'built' })
    expect(lastFor([{ kind: 'ready', ours: false }])).toEqual({ do: 'finish', how: 'joined' })
  })

  test('that failed in a step of the template is not repeated', () => {
    expect(lastFor([{ kind: 'failed', failure: error('BUILD_STEP_FAILED') }])).toMatchObject({ do: 'fail' })
  })

  test('that failed otherwise: look, rest, claim the lease, look again, start again', () => {
    const failure: BuildEvent = { kind: 'failed', failure: error('BUILD_FAILED') }
    expect(stepsFor([failure, none, paused, claimed, none])).toMatchObject([
      { do: 'look' },
      { do: 'pause', failures: 1 },
      { do: 'claim' },
      { do: 'look' },
      { do: 'start' },
    ])
  })

  test('that was replaced: the replacement is joined, or used when it is ready, also when forced', () => {
    const failure: BuildEvent = { kind: 'failed', failure: error('BUILD_FAILED') }
    expect(lastFor([failure, running(false)])).toMatchObject({ do: 'await', ours: false })
    expect(lastFor([failure, ready], { force: true })).toEqual({ do: 'finish', how: 'joined' })
  })

  test('is given up after a number of failures, with the last of them', () => {
    const failure: BuildEvent = { kind: 'failed', failure: error('BUILD_FAILED') }
    const round: readonly BuildEvent[] = [paused, claimed, none, failure]
    const events = [...Array.from({ length: MOST_FAILURES }, () => round).flat(), broken(true)]
    expect(lastFor(events)).toMatchObject({ do: 'fail', failure: { code: 'BUILD_FAILED' } })
    expect(stepsFor(events).filter((step) => step.do === 'start')).toHaveLength(MOST_FAILURES)
  })
})

describe('a refusal', () => {
  test.each(['AUTHENTICATION', 'QUOTA_EXCEEDED', 'RATE_LIMITED', 'INVALID_SPEC'] as const)('%s ends it', (code) => {
    expect(lastFor([refused('request', code)])).toMatchObject({ do: 'fail', failure: { code } })
  })

  test.each(['FORBIDDEN', 'BAD_REQUEST'] as const)(
    '%s of the request: a rival is joined, without one it is final',
    (code) => {
      expect(stepsFor([refused('request', code), running(false)])).toMatchObject([{ do: 'look' }, { do: 'await' }])
      expect(stepsFor([refused('request', code), none])).toMatchObject([
        { do: 'look' },
        { do: 'fail', failure: { code } },
      ])
    },
  )

  test.each(['CONFLICT', 'PLATFORM', 'NETWORK', 'REQUEST_TIMEOUT', 'SERVICE_BUSY', 'NOT_FOUND'] as const)(
    '%s of the request: look, and try again after a rest',
    (code) => {
      const steps = stepsFor([refused('request', code), none, paused, claimed, none])
      expect(steps.map((step) => step.do)).toEqual(['look', 'pause', 'claim', 'look', 'start'])
    },
  )

  test('of the start, because it is not waiting any more: look and try again', () => {
    const steps = stepsFor([refused('start', 'BAD_REQUEST'), none, paused, claimed, none])
    expect(steps.map((step) => step.do)).toEqual(['look', 'pause', 'claim', 'look', 'start'])
  })

  test('FORBIDDEN of a name that was not there: is one of ours by now, so it is tried again', () => {
    const steps = stepsFor([claimed, nameless, refused('request', 'FORBIDDEN'), none, paused])
    expect(steps.map((step) => step.do)).toEqual(['look', 'start', 'look', 'pause', 'claim'])
  })

  test('FORBIDDEN of a name that is still not there: is somebody else’s, or the account is blocked', () => {
    expect(lastFor([claimed, nameless, refused('request', 'FORBIDDEN'), nameless])).toMatchObject({
      do: 'fail',
      failure: { code: 'FORBIDDEN' },
    })
  })
})
