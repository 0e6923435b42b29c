import { describe, expect, test } from 'vitest'
import {
  type BuildOutcome,
  type Candidate,
  type CandidateFacts,
  type Facts,
  type FirstLook,
  MOST_STEPS,
  NO_FACTS,
  nextStep,
  type Role,
} from '../src/ladder.ts'

const buildable = (role: Role, firstLook: FirstLook, staleRef?: string): Candidate => ({
  kind: 'buildable',
  role,
  ref: `${role}:t`,
  staleRef,
  buildRef: `${role}:t`,
  firstLook,
})
const wanted = buildable('wanted', 'tags', 'wanted:current')
const fallback = buildable('fallback', 'status')
const last = buildable('default', 'status')
const ladder = [wanted, fallback, last]

const facts = (known: Partial<Record<Role, CandidateFacts>>): Facts => ({ ...NO_FACTS, ...known })
const after = (known: Partial<Record<Role, CandidateFacts>>, candidates: readonly Candidate[] = ladder) =>
  nextStep(candidates, facts(known))
const failed = (code: Extract<BuildOutcome, { kind: 'failed' }>['code']): BuildOutcome => ({ kind: 'failed', code })
/** Neither the wanted template nor an earlier build is there, as the list of tags and both statuses say. */
const absent: CandidateFacts = { listed: 'unlisted', staleListed: 'unlisted', ready: 'missing', stale: 'missing' }
const lost: CandidateFacts = { ...absent, build: failed('BUILD_STEP_FAILED') }

describe('the wanted template, on the word of its tags', () => {
  test.each<[string, CandidateFacts, object]>([
    ['nothing known: list', {}, { do: 'list', rung: 'exact', ref: 'wanted:t', staleRef: 'wanted:current' }],
    ['listed: boot it', { listed: 'listed', staleListed: 'listed' }, { do: 'boot', rung: 'exact', fact: 'listedBoot' }],
    ['not answered: boot it, create will know', { listed: 'unanswered' }, { do: 'boot', rung: 'exact' }],
    [
      'only the earlier build listed: boot that, then build',
      { listed: 'unlisted', staleListed: 'listed' },
      { do: 'boot', rung: 'stale', ref: 'wanted:current', thenBuild: { ref: 'wanted:t', force: false } },
    ],
    [
      'listed and not bootable: boot the earlier build, then build unless that runs already',
      { listed: 'listed', staleListed: 'listed', listedBoot: 'missing' },
      { do: 'boot', rung: 'stale', thenBuild: { ref: 'wanted:t', force: false } },
    ],
    [
      'suspect: boot the earlier build, then build although a build is ready',
      { listed: 'listed', staleListed: 'listed', listedBoot: 'suspect' },
      { do: 'boot', rung: 'stale', thenBuild: { ref: 'wanted:t', force: true } },
    ],
    ['nothing listed: ask', { listed: 'unlisted', staleListed: 'unlisted' }, { do: 'ask', rung: 'exact' }],
    [
      'an earlier build of another name is asked for after the wanted one',
      { listed: 'unlisted', ready: 'missing' },
      { do: 'ask', rung: 'stale' },
    ],
    [
      'not bootable at first and ready now: boot it again',
      { listed: 'listed', staleListed: 'unlisted', listedBoot: 'missing', ready: 'ready' },
      { do: 'boot', rung: 'exact', fact: 'readyBoot' },
    ],
    [
      'not bootable at first, and no answer now: create has told already',
      { listed: 'unanswered', staleListed: 'unlisted', listedBoot: 'missing', ready: 'unanswered', stale: 'missing' },
      { do: 'build', force: false },
    ],
    [
      'suspect and no earlier build: build without a further question',
      { listed: 'listed', staleListed: 'unlisted', listedBoot: 'suspect', stale: 'missing' },
      { do: 'build', rung: 'built', force: true },
    ],
    ['nothing there: build', absent, { do: 'build', rung: 'built', force: false }],
    ['another account’s: leave it', { ...absent, ready: 'foreign' }, { do: 'ask', role: 'fallback' }],
    ['built: boot it', { ...absent, build: { kind: 'built' } }, { do: 'boot', rung: 'built', thenBuild: undefined }],
    ['joined: boot it', { ...absent, build: { kind: 'joined' } }, { do: 'boot', rung: 'joined' }],
    [
      'built and unusable: fall back',
      { ...absent, build: { kind: 'built' }, buildBoot: 'missing' },
      { do: 'ask', rung: 'fallback' },
    ],
    ['build failed: fall back', lost, { do: 'ask', rung: 'fallback', ref: 'fallback:t' }],
  ])('%s', (_state, known, step) => {
    expect(after({ wanted: known })).toMatchObject(step)
  })
})

describe('the wanted template, on the word of its status', () => {
  test.each<[string, CandidateFacts, object]>([
    ['nothing known: ask', {}, { do: 'ask', rung: 'exact', ref: 'wanted:t' }],
    ['ready: boot it', { ready: 'ready' }, { do: 'boot', rung: 'exact' }],
    ['unanswered: boot it, create will know', { ready: 'unanswered' }, { do: 'boot', rung: 'exact' }],
    ['missing: ask for the earlier build', { ready: 'missing' }, { do: 'ask', rung: 'stale', ref: 'wanted:current' }],
    [
      'earlier build ready: boot it, then build',
      { ready: 'missing', stale: 'ready' },
      { do: 'boot', rung: 'stale', thenBuild: { ref: 'wanted:t', force: false } },
    ],
    [
      'ready and yet not bootable: boot the earlier build, then build although one is ready',
      { ready: 'ready', readyBoot: 'missing', stale: 'ready' },
      { do: 'boot', rung: 'stale', thenBuild: { ref: 'wanted:t', force: true } },
    ],
    [
      'earlier build unusable: build',
      { ready: 'missing', stale: 'ready', staleBoot: 'missing' },
      { do: 'build', rung: 'built', force: false },
    ],
  ])('%s', (_state, known, step) => {
    expect(after({ wanted: known }, [buildable('wanted', 'status', 'wanted:current'), last])).toMatchObject(step)
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
      { ready: 'ready', readyBoot: 'missing' },
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
  test.each(['QUOTA_EXCEEDED', 'RATE_LIMITED'] as const)('of a build (%s): no other build', (code) => {
    const refused: CandidateFacts = { ...lost, build: failed(code) }
    expect(after({ wanted: refused, fallback: { ready: 'missing' } })).toMatchObject({ do: 'skip', rung: 'fallback' })
    expect(after({ wanted: refused, fallback: { ready: 'ready' } })).toMatchObject({ do: 'boot', rung: 'fallback' })
    const skipped: CandidateFacts = { ready: 'missing', build: { kind: 'skipped' } }
    expect(after({ wanted: refused, fallback: skipped, default: skipped })).toMatchObject({ do: 'give-up' })
  })

  test('of a question: what may be ready is booted, and nothing is built', () => {
    expect(after({ wanted: { listed: 'limited', staleListed: 'limited' } })).toMatchObject({
      do: 'boot',
      rung: 'exact',
    })
    const unusable: CandidateFacts = { listed: 'limited', staleListed: 'limited', listedBoot: 'missing' }
    expect(after({ wanted: unusable })).toMatchObject({ do: 'boot', rung: 'stale', thenBuild: undefined })
    const asked: CandidateFacts = { ...absent, ready: 'limited', readyBoot: 'missing' }
    expect(after({ wanted: asked })).toMatchObject({ do: 'skip', rung: 'built' })
  })
})

const existing = (strict: boolean): Candidate => ({ kind: 'existing', role: 'wanted', ref: 'base', strict })

describe('an existing template', () => {
  test('is booted without a question, then left for the next', () => {
    const candidates = [existing(false), last]
    expect(nextStep(candidates, NO_FACTS)).toMatchObject({ do: 'boot', rung: 'exact', ref: 'base' })
    const unusable = facts({ wanted: { readyBoot: 'missing' } })
    expect(nextStep(candidates, unusable)).toMatchObject({ do: 'ask', role: 'default' })
  })

  test('strictly, is all there is', () => {
    const unusable = facts({ wanted: { readyBoot: 'missing' } })
    expect(nextStep([existing(true), last], unusable)).toEqual({ do: 'give-up', because: 'strict' })
  })
})

test('no ladder takes more steps than stated, and none leads nowhere, whatever the answers', () => {
  const listings = ['listed', 'unlisted', 'unanswered'] as const
  const answers: Record<string, readonly unknown[]> = {
    ask: ['ready', 'missing', 'foreign', 'unanswered'],
    boot: ['missing', 'suspect'],
    build: [{ kind: 'built' }, failed('BUILD_FAILED'), failed('BUILD_TIMEOUT'), failed('QUOTA_EXCEEDED')],
    skip: [{ kind: 'skipped' }],
  }
  let walks = 0
  let longest = 0
  const walk = (candidates: readonly Candidate[], known: Facts, steps: number): void => {
    const step = nextStep(candidates, known)
    if (step.do === 'give-up') {
      walks += 1
      longest = Math.max(longest, steps + 1)
      return
    }
    const learned: readonly CandidateFacts[] =
      step.do === 'list'
        ? listings.flatMap((listed) => listings.map((staleListed) => ({ listed, staleListed })))
        : (answers[step.do] ?? []).map((answer) => ({ [step.fact]: answer }))
    for (const added of learned) {
      walk(candidates, { ...known, [step.role]: { ...known[step.role], ...added } }, steps + 1)
    }
  }
  walk([wanted, last], NO_FACTS, 0)
  walk([buildable('wanted', 'status', 'wanted:current'), last], NO_FACTS, 0)
  walk([fallback, last], NO_FACTS, 0)
  expect(walks).toBeGreaterThan(10_000)
  expect(longest).toBeLessThanOrEqual(MOST_STEPS)
})
