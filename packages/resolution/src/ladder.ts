import type { ResolutionErrorCode } from './errors.ts'
import type { Rung } from './events.ts'
import type { TemplateStatus } from './template-api.ts'
import { unreachable } from './unreachable.ts'

/**
 * The ladder, as a function from what is known to what to do next. It calls nothing and knows no clock: the driver
 * performs a step and records its answer, until a boot succeeds or nothing is left.
 *
 * A ladder has up to three candidates, tried in order: the wanted template, its fallback, the default template. Each
 * rung of a candidate is left for the next one only where E2B said that there is nothing to boot, or where a build
 * failed. A key that is refused, and a create of which nobody knows what came of it, end the climb in the driver.
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
      /**
       * What a first boot relies on. `tags`: that the tag exists, which is known as soon as the template's name is; a
       * tag whose build is not ready costs a create that answers 404. `status`: that a ready build exists.
       */
      readonly firstLook: FirstLook
    }

export type FirstLook = 'tags' | 'status'

/** Why no answer tells anything: the platform could not give one, or the account is at a limit of requests. */
export type NoAnswer = 'unanswered' | 'limited'

/** Whether the list of tags has a tag. */
export type Listed = 'listed' | 'unlisted' | NoAnswer

/** Whether a ref has a ready build. */
export type Readiness = TemplateStatus | NoAnswer

/** What came of making sure that a build exists. */
export type BuildOutcome =
  | { readonly kind: 'built' }
  | { readonly kind: 'joined' }
  | { readonly kind: 'failed'; readonly code: ResolutionErrorCode }
  | { readonly kind: 'skipped' }

/**
 * Why a boot gave no sandbox, and another ref may be tried. `missing`: create answered 404. `suspect`: it failed on the
 * platform's side, twice in a row for this ref, and nothing came of either.
 */
export type Unbootable = 'missing' | 'suspect'

/** Everything learned about one candidate; an absent field was not tried yet. */
export interface CandidateFacts {
  readonly listed?: Listed
  /** Absent where the earlier build has another name than the one whose tags were listed. */
  readonly staleListed?: Listed
  readonly listedBoot?: Unbootable
  readonly ready?: Readiness
  readonly readyBoot?: Unbootable
  readonly stale?: Readiness
  readonly staleBoot?: Unbootable
  readonly build?: BuildOutcome
  readonly buildBoot?: Unbootable
  readonly rebuild?: BuildOutcome
  readonly rebuildBoot?: Unbootable
}

export type Facts = Readonly<Record<Role, CandidateFacts>>

export const NO_FACTS: Facts = Object.freeze({ wanted: {}, fallback: {}, default: {} })

/** The fact a step's answer is recorded under. */
export type ReadinessFact = 'ready' | 'stale'
export type BuildFact = 'build' | 'rebuild'
export type BootFact = 'listedBoot' | 'readyBoot' | 'staleBoot' | 'buildBoot' | 'rebuildBoot'

export type Step =
  /** Which of the two refs have a tag, by one question. */
  | {
      readonly do: 'list'
      readonly role: Role
      readonly rung: Rung
      readonly ref: string
      readonly staleRef: string | undefined
    }
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
  /** Would build, but the platform refused for a limit in this resolution: start no build. */
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
  const { role, ref, staleRef, buildRef, firstLook } = candidate
  const isSuspect = known.listedBoot === 'suspect' || known.readyBoot === 'suspect'
  // Only what was known to be ready before create refused it must be built although it is ready. A build that became
  // ready after the refusal is good, and building it again would be one build too many.
  const force = buildRef === ref && (isSuspect || known.readyBoot !== undefined)
  const stale = (of: string): Step => {
    const thenBuild = buildingRefused ? undefined : { ref: buildRef, force }
    return { do: 'boot', role, fact: 'staleBoot', rung: 'stale', ref: of, thenBuild }
  }

  // exact, then stale, on the word of their tags. This is the warm path: what it needs to know was asked while the head
  // was looked up, so one create follows. Where the tag's build is not ready, create says so and the next rung follows.
  if (firstLook === 'tags') {
    if (known.listed === undefined) return { do: 'list', role, rung: readyRung(role), ref, staleRef }
    if (isWorthBooting(known.listed) && known.listedBoot === undefined) {
      return { do: 'boot', role, fact: 'listedBoot', rung: readyRung(role), ref, thenBuild: undefined }
    }
    const { staleListed } = known
    if (staleRef !== undefined && staleListed !== undefined && isWorthBooting(staleListed)) {
      if (known.staleBoot === undefined) return stale(staleRef)
    }
  }

  // exact, on the word of its status: it became ready meanwhile, or no list of tags tells. A suspect was ready all along.
  if (!isSuspect) {
    if (known.ready === undefined) return { do: 'ask', role, fact: 'ready', rung: readyRung(role), ref }
    // The name is another account's: nothing under it can be booted or built by this one.
    if (known.ready === 'foreign') return undefined
    // Where the platform cannot tell, create can, and has done so where it was asked before.
    const isNews = known.ready === 'ready' || known.listedBoot === undefined
    if (isWorthBooting(known.ready) && isNews && known.readyBoot === undefined) {
      return { do: 'boot', role, fact: 'readyBoot', rung: readyRung(role), ref, thenBuild: undefined }
    }
  }

  // stale: a ready earlier build serves this session, the wanted one is built for the next.
  if (staleRef !== undefined && known.staleBoot === undefined) {
    if (known.stale === undefined) return { do: 'ask', role, fact: 'stale', rung: 'stale', ref: staleRef }
    if (isWorthBooting(known.stale)) return stale(staleRef)
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
  boot: Unbootable | undefined,
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

function isWorthBooting(answer: Listed | Readiness): boolean {
  switch (answer) {
    case 'listed':
    case 'ready':
    case 'unanswered':
    case 'limited':
      return true
    case 'unlisted':
    case 'missing':
    case 'foreign':
      return false
    default:
      return unreachable(answer)
  }
}

/** A build whose end was not seen may still run, and a refusal for a limit would be repeated. */
const isWorthRepeating = (outcome: BuildOutcome): boolean =>
  outcome.kind !== 'skipped' && !(outcome.kind === 'failed' && outcome.code === 'BUILD_TIMEOUT')

/** Once anything was refused for a limit, a build would be too, or would cost somebody else theirs. */
const isBuildingRefused = (facts: Facts): boolean =>
  Object.values(facts).some(
    ({ build, listed, ready, rebuild, stale }: CandidateFacts) =>
      isRefusal(build) || isRefusal(rebuild) || [listed, ready, stale].includes('limited'),
  )

const isRefusal = (outcome: BuildOutcome | undefined): boolean =>
  outcome?.kind === 'failed' && (outcome.code === 'QUOTA_EXCEEDED' || outcome.code === 'RATE_LIMITED')

const readyRung = (role: Role): Rung => (role === 'wanted' ? 'exact' : role)

const buildRung = (role: Role, fact: BuildFact, how: 'built' | 'joined'): Rung => {
  if (fact === 'rebuild') return 'rebuilt'
  return role === 'wanted' ? how : role
}

/**
 * Most steps a resolution can take. Every step but the last fills one of a candidate's ten facts (`staleListed` comes
 * with `listed`), and a filled one is never asked for again.
 */
export const MOST_STEPS = 3 * 10 + 1

/** Facts with answers added. */
export const learn = (facts: Facts, role: Role, answers: CandidateFacts): Facts => ({
  ...facts,
  [role]: { ...facts[role], ...answers },
})
