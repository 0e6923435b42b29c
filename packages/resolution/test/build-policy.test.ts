import { ResolutionError, type ResolutionErrorCode } from '@warmbox/resolution'
import { describe, expect, test } from 'vitest'
import { type BuildEvent, type BuildMemory, MOST_FAILURES, newBuildMemory, nextBuildStep } from '../src/build-policy.ts'

const build = { templateId: 't', buildId: 'b' }
const error = (code: ResolutionErrorCode): ResolutionError => new ResolutionError({ code, message: code })
const running = (ours: boolean, abandoned = false): BuildEvent => ({
  kind: 'found',
  found: { kind: 'running', build, ours, abandoned },
})
const none: BuildEvent = { kind: 'found', found: { kind: 'none' } }
const ready: BuildEvent = { kind: 'found', found: { kind: 'ready' } }
const refused = (during: 'look' | 'request' | 'start' | 'wait', code: ResolutionErrorCode): BuildEvent => ({
  kind: 'refused',
  during,
  failure: error(code),
})

/** The steps taken for a series of events. */
function stepsFor(events: readonly BuildEvent[], force = false) {
  let memory: BuildMemory = newBuildMemory(force)
  return events.map((event) => {
    const next = nextBuildStep(memory, event)
    memory = next.memory
    return next.step
  })
}
const lastFor = (events: readonly BuildEvent[], force = false) => stepsFor(events, force).at(-1)

describe('before anything is started', () => {
  test('it looks', () => {
    expect(lastFor([{ kind: 'begun' }])).toEqual({ do: 'look' })
  })

  test.each<[string, BuildEvent, object]>([
    ['nothing there: start', none, { do: 'start' }],
    ['ready by now: done', ready, { do: 'finish', how: 'joined' }],
    ['running: wait for it', running(false), { do: 'await', build, ours: false }],
    ['abandoned: start', running(false, true), { do: 'start' }],
    ['cannot look: fail, since starting could kill another', refused('look', 'NETWORK'), { do: 'fail' }],
  ])('%s', (_state, event, step) => {
    expect(lastFor([event])).toMatchObject(step)
  })

  test('forced: a ready build does not count, a running one does', () => {
    expect(lastFor([ready], true)).toEqual({ do: 'start' })
    expect(lastFor([running(false)], true)).toMatchObject({ do: 'await' })
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

  test('that failed otherwise: look, rest, look again, start again', () => {
    const failure: BuildEvent = { kind: 'failed', failure: error('BUILD_FAILED') }
    expect(stepsFor([failure, none, { kind: 'paused' }, none])).toMatchObject([
      { do: 'look' },
      { do: 'pause', failures: 1 },
      { do: 'look' },
      { do: 'start' },
    ])
  })

  test('that was replaced: the replacement is joined, or used when it is ready, also when forced', () => {
    const failure: BuildEvent = { kind: 'failed', failure: error('BUILD_FAILED') }
    expect(lastFor([failure, running(false)])).toMatchObject({ do: 'await', ours: false })
    expect(lastFor([failure, ready], true)).toEqual({ do: 'finish', how: 'joined' })
  })

  test('is given up after a number of failures, with the last of them', () => {
    const round: readonly BuildEvent[] = [{ kind: 'paused' }, none, { kind: 'failed', failure: error('BUILD_FAILED') }]
    const events = [...Array.from({ length: MOST_FAILURES }, () => round).flat(), none]
    expect(lastFor(events)).toMatchObject({ do: 'fail', failure: { code: 'BUILD_FAILED' } })
    expect(stepsFor(events).filter((step) => step.do === 'start')).toHaveLength(MOST_FAILURES)
  })
})

describe('a refusal', () => {
  test.each(['AUTHENTICATION', 'QUOTA_EXCEEDED', 'RATE_LIMITED', 'UPLOAD_FAILED'] as const)('%s ends it', (code) => {
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
      const steps = stepsFor([refused('request', code), none, { kind: 'paused' }, none])
      expect(steps.map((step) => step.do)).toEqual(['look', 'pause', 'look', 'start'])
    },
  )

  test('of the start, because it is not waiting any more: look and try again', () => {
    const steps = stepsFor([refused('start', 'BAD_REQUEST'), none, { kind: 'paused' }, none])
    expect(steps.map((step) => step.do)).toEqual(['look', 'pause', 'look', 'start'])
  })
})
