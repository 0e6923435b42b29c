import { describe, expect, test } from 'vitest'
import {
  type BuildOutcome,
  type Candidate,
  type CandidateFacts,
  type Facts,
  MOST_STEPS,
  NO_FACTS,
  nextStep,
  type Role,
} from '../src/ladder.ts'

const buildable = (role: Role, staleRef?: string): Candidate => ({
  kind: 'buildable',
  role,
  ref: `${role}:t`,
  staleRef,
  buildRef: `${role}:t`,
})
const wanted = buildable('wanted', 'wanted:current')
const fallback = buildable('fallback')
const last = buildable('default')
const ladder = [wanted, fallback, last]

const facts = (known: Partial<Record<Role, CandidateFacts>>): Facts => ({ ...NO_FACTS, ...known })
const after = (known: Partial<Record<Role, CandidateFacts>>) => nextStep(ladder, facts(known))
const failed = (code: Extract<BuildOutcome, { kind: 'failed' }>['code']): BuildOutcome => ({ kind: 'failed', code })
const lost: CandidateFacts = { ready: 'missing', stale: 'missing', build: failed('BUILD_STEP_FAILED') }

describe('the wanted template', () => {
  test.each<[string, CandidateFacts, object]>([
    ['nothing known: ask', {}, { do: 'ask', rung: 'exact', ref: 'wanted:t' }],
    ['ready: boot it', { ready: 'ready' }, { do: 'boot', rung: 'exact' }],
    ['unanswered: boot it, create will know', { ready: 'unanswered' }, { do: 'boot', rung: 'exact' }],
    ['another account’s: leave it', { ready: 'foreign' }, { do: 'ask', role: 'fallback' }],
    ['missing: ask for the earlier build', { ready: 'missing' }, { do: 'ask', rung: 'stale', ref: 'wanted:current' }],
    [
      'earlier build ready: boot it, then build',
      { ready: 'missing', stale: 'ready' },
      { do: 'boot', rung: 'stale', thenBuild: { ref: 'wanted:t', force: false } },
    ],
    [
      'unusable: boot the earlier build, then build although one is ready',
      { ready: 'ready', readyBoot: 'unusable', stale: 'ready' },
      { do: 'boot', rung: 'stale', thenBuild: { ref: 'wanted:t', force: true } },
    ],
    ['no earlier build: build', { ready: 'missing', stale: 'missing' }, { do: 'build', rung: 'built', force: false }],
    [
      'earlier build unusable: build',
      { ready: 'missing', stale: 'ready', staleBoot: 'unusable' },
      { do: 'build', rung: 'built', force: false },
    ],
    [
      'built: boot it',
      { ready: 'missing', stale: 'missing', build: { kind: 'built' } },
      { do: 'boot', rung: 'built', thenBuild: undefined },
    ],
    [
      'joined: boot it',
      { ready: 'missing', stale: 'missing', build: { kind: 'joined' } },
      { do: 'boot', rung: 'joined' },
    ],
    [
      'built and unusable: fall back',
      { ready: 'missing', stale: 'missing', build: { kind: 'built' }, buildBoot: 'unusable' },
      { do: 'ask', rung: 'fallback' },
    ],
    ['build failed: fall back', lost, { do: 'ask', rung: 'fallback', ref: 'fallback:t' }],
  ])('%s', (_state, known, step) => {
    expect(after({ wanted: known })).toMatchObject(step)
  })
})

describe('the default template', () => {
  const before = { wanted: lost, fallback: { ready: 'foreign' } } as const

  test.each<[string, CandidateFacts, object]>([
    ['nothing known: ask', {}, { do: 'ask', rung: 'default' }],
    ['ready: boot it', { ready: 'ready' }, { do: 'boot', rung: 'default' }],
    ['missing: build it', { ready: 'missing' }, { do: 'build', rung: 'default', force: false }],
    [
      'unusable: build it again',
      { ready: 'ready', readyBoot: 'unusable' },
      { do: 'build', rung: 'rebuilt', force: true },
    ],
    [
      'build failed: build it again',
      { ready: 'missing', build: failed('BUILD_STEP_FAILED') },
      { do: 'build', rung: 'rebuilt', force: true },
    ],
    [
      'rebuilt: boot it',
      { ready: 'missing', build: failed('PLATFORM'), rebuild: { kind: 'built' } },
      { rung: 'rebuilt' },
    ],
    ['build not seen to end: give up', { ready: 'missing', build: failed('BUILD_TIMEOUT') }, { do: 'give-up' }],
    [
      'rebuilt in vain: give up',
      { ready: 'missing', build: failed('PLATFORM'), rebuild: failed('PLATFORM') },
      { do: 'give-up', because: 'exhausted' },
    ],
  ])('%s', (_state, known, step) => {
    expect(after({ ...before, default: known })).toMatchObject(step)
  })
})

describe('after a refusal for a limit', () => {
  test.each(['QUOTA_EXCEEDED', 'RATE_LIMITED'] as const)('%s: no other build', (code) => {
    const refused: CandidateFacts = { ...lost, build: failed(code) }
    expect(after({ wanted: refused, fallback: { ready: 'missing' } })).toMatchObject({ do: 'skip', rung: 'fallback' })
    expect(after({ wanted: refused, fallback: { ready: 'ready' } })).toMatchObject({ do: 'boot', rung: 'fallback' })
    const skipped: CandidateFacts = { ready: 'missing', build: { kind: 'skipped' } }
    expect(after({ wanted: refused, fallback: skipped, default: skipped })).toMatchObject({ do: 'give-up' })
  })
})

const existing = (strict: boolean): Candidate => ({ kind: 'existing', role: 'wanted', ref: 'base', strict })

describe('an existing template', () => {
  test('is booted without a question, then left for the next', () => {
    const candidates = [existing(false), last]
    expect(nextStep(candidates, NO_FACTS)).toMatchObject({ do: 'boot', rung: 'exact', ref: 'base' })
    const unusable = facts({ wanted: { readyBoot: 'unusable' } })
    expect(nextStep(candidates, unusable)).toMatchObject({ do: 'ask', role: 'default' })
  })

  test('strictly, is all there is', () => {
    const unusable = facts({ wanted: { readyBoot: 'unusable' } })
    expect(nextStep([existing(true), last], unusable)).toEqual({ do: 'give-up', because: 'strict' })
  })
})

test('no ladder takes more steps than stated, whatever the answers', () => {
  const answers: Record<string, readonly unknown[]> = {
    ask: ['ready', 'missing', 'foreign', 'unanswered'],
    boot: ['unusable'],
    build: [
      { kind: 'built' },
      { kind: 'joined' },
      failed('BUILD_FAILED'),
      failed('BUILD_TIMEOUT'),
      failed('QUOTA_EXCEEDED'),
    ],
    skip: [{ kind: 'skipped' }],
  }
  let walks = 0
  let longest = 0
  const walk = (known: Facts, steps: number): void => {
    const step = nextStep(ladder, known)
    if (step.do === 'give-up') {
      walks += 1
      longest = Math.max(longest, steps + 1)
      return
    }
    for (const answer of answers[step.do] ?? []) {
      walk({ ...known, [step.role]: { ...known[step.role], [step.fact]: answer } }, steps + 1)
    }
  }
  walk(NO_FACTS, 0)
  expect(walks).toBeGreaterThan(10_000)
  expect(longest).toBeLessThanOrEqual(MOST_STEPS)
})
