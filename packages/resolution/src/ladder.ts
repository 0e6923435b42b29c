import type { ResolutionErrorCode } from './errors.ts'
import type { Rung } from './events.ts'
import type { TemplateStatus } from './template-api.ts'
import { unreachable } from './unreachable.ts'

/**
 * The ladder, as a function from what is known to what to do next. It calls nothing and knows no clock: the driver
 * performs a step and records its answer, until a boot succeeds or nothing is left.
 *
 * A ladder has up to three candidates, tried in order: the wanted template, its fallback, the default template.
 */
export type Role = 'wanted' | 'fallback' | 'default'

/** One template a session could boot from. */
export type Candidate =
  /** Somebody else's to build. It is booted without being asked for: only create knows public templates. */
  | {
      readonly kind: 'existing'
      readonly role: 'wanted' | 'fallback'
      readonly ref: string
      /** Where it cannot be booted, nothing else is. */
      readonly strict: boolean
    }
  /** Looked up under its own name, and built where it is missing. */
  | {
      readonly kind: 'buildable'
      readonly role: Role
      readonly ref: string
      readonly staleRef: string | undefined
      /** What a build is made under; mostly `ref` itself. */
      readonly buildRef: string
    }

/** An answer to "is it ready", or `unanswered` where the platform could not tell. */
export type Readiness = TemplateStatus | 'unanswered'

/** What came of making sure that a build exists. */
export type BuildOutcome =
  | { readonly kind: 'built' }
  | { readonly kind: 'joined' }
  | { readonly kind: 'failed'; readonly code: ResolutionErrorCode }
  | { readonly kind: 'skipped' }

/** Everything learned about one candidate; an absent field was not tried yet. */
export interface CandidateFacts {
  readonly ready?: Readiness
  readonly readyBoot?: 'unusable'
  readonly stale?: Readiness
  readonly staleBoot?: 'unusable'
  readonly build?: BuildOutcome
  readonly buildBoot?: 'unusable'
  readonly rebuild?: BuildOutcome
  readonly rebuildBoot?: 'unusable'
}

export type Facts = Readonly<Record<Role, CandidateFacts>>

export const NO_FACTS: Facts = Object.freeze({ wanted: {}, fallback: {}, default: {} })

/** The fact a step's answer is recorded under. */
export type ReadinessFact = 'ready' | 'stale'
export type BuildFact = 'build' | 'rebuild'
export type BootFact = 'readyBoot' | 'staleBoot' | 'buildBoot' | 'rebuildBoot'

export type Step =
  | { readonly do: 'ask'; readonly role: Role; readonly fact: ReadinessFact; readonly rung: Rung; readonly ref: string }
  | {
      readonly do: 'boot'
      readonly role: Role
      readonly fact: BootFact
      readonly rung: Rung
      readonly ref: string
      /** Ref to build in the background once this boot succeeded. */
      readonly thenBuild: { readonly ref: string; readonly force: boolean } | undefined
    }
  | {
      readonly do: 'build'
      readonly role: Role
      readonly fact: BuildFact
      readonly rung: Rung
      readonly ref: string
      /** A build that is ready already does not count: it could not be booted. */
      readonly force: boolean
    }
  /** Would build, but the platform refused one for quota in this resolution: start no other. */
  | { readonly do: 'skip'; readonly role: Role; readonly fact: BuildFact; readonly rung: Rung; readonly ref: string }
  | { readonly do: 'give-up'; readonly because: 'exhausted' | 'strict' }

/** The first candidate with something left to try decides. */
export function nextStep(candidates: readonly Candidate[], facts: Facts): Step {
  for (const candidate of candidates) {
    const step = stepOf(candidate, facts)
    if (step !== undefined) return step
  }
  return { do: 'give-up', because: 'exhausted' }
}

function stepOf(candidate: Candidate, facts: Facts): Step | undefined {
  switch (candidate.kind) {
    case 'existing':
      return stepOfExisting(candidate, facts[candidate.role])
    case 'buildable':
      return stepOfBuildable(candidate, facts[candidate.role], isBuildingRefused(facts))
    default:
      return unreachable(candidate)
  }
}

type Existing = Extract<Candidate, { kind: 'existing' }>
type Buildable = Extract<Candidate, { kind: 'buildable' }>

function stepOfExisting({ role, ref, strict }: Existing, known: CandidateFacts): Step | undefined {
  if (known.readyBoot !== undefined) return strict ? { do: 'give-up', because: 'strict' } : undefined
  return { do: 'boot', role, fact: 'readyBoot', rung: readyRung(role), ref, thenBuild: undefined }
}

function stepOfBuildable(candidate: Buildable, known: CandidateFacts, buildingRefused: boolean): Step | undefined {
  const { role, ref, staleRef, buildRef } = candidate

  // exact: asked first, booted when ready. Where the platform cannot tell, create can.
  if (known.ready === undefined) return { do: 'ask', role, fact: 'ready', rung: readyRung(role), ref }
  // The name is another account's: nothing under it can be booted or built by this one.
  if (known.ready === 'foreign') return undefined
  if (isWorthBooting(known.ready) && known.readyBoot === undefined) {
    return { do: 'boot', role, fact: 'readyBoot', rung: readyRung(role), ref, thenBuild: undefined }
  }

  // stale: a ready earlier build serves this session, the wanted one is built for the next.
  const force = known.readyBoot === 'unusable' && buildRef === ref
  if (staleRef !== undefined) {
    if (known.stale === undefined) return { do: 'ask', role, fact: 'stale', rung: 'stale', ref: staleRef }
    if (isWorthBooting(known.stale) && known.staleBoot === undefined) {
      const thenBuild = buildingRefused ? undefined : { ref: buildRef, force }
      return { do: 'boot', role, fact: 'staleBoot', rung: 'stale', ref: staleRef, thenBuild }
    }
  }

  // joined, built: one build for everybody who wants this ref.
  // A default template that is ready and yet cannot be booted leaves this out: building it is building it again.
  if (role !== 'default' || !force) {
    const built = stepOfBuild(candidate, 'build', known.build, known.buildBoot, force, buildingRefused)
    if (built !== undefined || role !== 'default') return built
  }

  // rebuilt: the last template there is gets one more build, unless that could only repeat the answer.
  if (known.build !== undefined && !isWorthRepeating(known.build)) return undefined
  return stepOfBuild(candidate, 'rebuild', known.rebuild, known.rebuildBoot, true, buildingRefused)
}

function stepOfBuild(
  { role, buildRef: ref }: Buildable,
  fact: BuildFact,
  outcome: BuildOutcome | undefined,
  boot: 'unusable' | undefined,
  force: boolean,
  buildingRefused: boolean,
): Step | undefined {
  if (outcome === undefined) {
    const rung = buildRung(role, fact, 'built')
    return buildingRefused ? { do: 'skip', role, fact, rung, ref } : { do: 'build', role, fact, rung, ref, force }
  }
  switch (outcome.kind) {
    case 'built':
    case 'joined': {
      if (boot !== undefined) return undefined
      const rung = buildRung(role, fact, outcome.kind)
      return { do: 'boot', role, fact: `${fact}Boot`, rung, ref, thenBuild: undefined }
    }
    case 'failed':
    case 'skipped':
      return undefined
    default:
      return unreachable(outcome)
  }
}

const isWorthBooting = (readiness: Readiness): boolean => readiness === 'ready' || readiness === 'unanswered'

/** A build whose end was not seen may still run, and a refusal for quota would be repeated. */
const isWorthRepeating = (outcome: BuildOutcome): boolean =>
  outcome.kind !== 'skipped' && !(outcome.kind === 'failed' && outcome.code === 'BUILD_TIMEOUT')

/** Once one build was refused for a limit, every further one would be too, or would cost somebody else theirs. */
const isBuildingRefused = (facts: Facts): boolean =>
  Object.values(facts).some(({ build, rebuild }: CandidateFacts) => isRefusal(build) || isRefusal(rebuild))

const isRefusal = (outcome: BuildOutcome | undefined): boolean =>
  outcome?.kind === 'failed' && (outcome.code === 'QUOTA_EXCEEDED' || outcome.code === 'RATE_LIMITED')

const readyRung = (role: Role): Rung => (role === 'wanted' ? 'exact' : role)

const buildRung = (role: Role, fact: BuildFact, how: 'built' | 'joined'): Rung => {
  if (fact === 'rebuild') return 'rebuilt'
  return role === 'wanted' ? how : role
}

/**
 * Most steps a resolution can take. Every step but the last fills one of a candidate's eight facts, and a filled one is
 * never asked for again.
 */
export const MOST_STEPS = 3 * 8 + 1

/** Facts with one answer added. */
export const learn = <Fact extends keyof CandidateFacts>(
  facts: Facts,
  role: Role,
  fact: Fact,
  answer: NonNullable<CandidateFacts[Fact]>,
): Facts => ({ ...facts, [role]: { ...facts[role], [fact]: answer } })
