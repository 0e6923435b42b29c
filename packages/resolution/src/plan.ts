import type { ConnectionOpts } from 'e2b'
import { isResolutionError } from './errors.ts'
import type { Rung } from './events.ts'
import { rememberedFailure } from './failure-memory.ts'
import { firstBuildStep } from './build-policy.ts'
import { findBuild } from './find-build.ts'
import {
  type BuildOutcome,
  type CandidateFacts,
  type Facts,
  learn,
  MOST_STEPS,
  NO_FACTS,
  nextStep,
  type Readiness,
  type Role,
  type Step,
} from './ladder.ts'
import { assertConnection, ENDPOINT_NAMES } from './connection-checks.ts'
import { lookAgain } from './look-again.ts'
import { OPTION_NAMES, type ResolvedOptions, resolveOptions, type ResolveTemplateOptions } from './options.ts'
import { prepare } from './prepare-resolution.ts'
import type { PreparedLadder } from './prepare.ts'
import { createTemplateApi } from './sdk-template-api.ts'
import type { TemplateSpec } from './spec.ts'
import type { BuildTarget } from './target.ts'
import { unreachable } from './unreachable.ts'
import { isUnstarted } from './unstarted.ts'
import { type Unpinned, unpinnedOf } from './unpinned.ts'
import { assertSources, buildBodyOf, copiesFiles, makesFiles } from './template-content.ts'

/** The connection to E2B, and what a session would be started with. */
export interface PlanConnection
  extends
    ConnectionOpts,
    Pick<ResolveTemplateOptions, 'resources' | 'strictTemplate' | 'clock'>,
    Partial<Pick<ResolveTemplateOptions, 'api'>> {}

const CONNECTION_NAMES = { ...OPTION_NAMES, ...ENDPOINT_NAMES }

/** One rung a session would leave behind, and why. */
export interface PlannedMiss {
  readonly rung: Rung
  readonly ref: string
  readonly reason: string
}

/** What a session that started now would do. */
export interface TemplatePlan {
  /** The ref the spec asks for; that of the default template where there is no spec, or it could not be determined. */
  readonly ref: string
  /** Is that ref ready? */
  readonly ready: boolean
  /** The rung the session would boot from; undefined where nothing would be left. */
  readonly rung: Rung | undefined
  /** What it would boot there. */
  readonly boots: string | undefined
  /** Would it boot an earlier build while the wanted one is built? */
  readonly wouldBootStale: boolean
  /** The ref it would build, awaited or in the background. */
  readonly wouldBuild: string | undefined
  /** For that it would start this build, by its id, which somebody requested and left; undefined: it would request one. */
  readonly wouldTakeOver: string | undefined
  /**
   * The ref whose build it would wait for, or leave to whoever runs it. One that was requested in the last 15 s counts as
   * somebody's too; if it still waits after them, a session that waits for it starts it itself.
   */
  readonly wouldJoin: string | undefined
  /** What the wanted template's content depends on without being pinned to it. */
  readonly unpinned: readonly Unpinned[]
  /** The rungs above, from the top. */
  readonly missed: readonly PlannedMiss[]
}

/**
 * Tells what {@link bootFromSpec} would do with a spec now, without doing it: a deferred spec is resolved, which asks for
 * access and the head, and E2B is asked for states. Nothing is requested, started, tagged or created, no lease is
 * claimed and nothing is remembered. A create can still refuse what looks ready, and others act meanwhile.
 *
 * @throws ResolutionError `INVALID_SPEC` and `MISSING_API_KEY` before any request, otherwise as E2B answered.
 */
export async function planTemplate(
  spec: TemplateSpec | undefined,
  connection: PlanConnection = {},
): Promise<TemplatePlan> {
  assertConnection(connection, CONNECTION_NAMES)
  const { api: given, clock, resources, signal, strictTemplate, ...endpoint } = connection
  const api = given ?? createTemplateApi(endpoint)
  const options = resolveOptions({ api, clock, resources, signal, strictTemplate })
  const { ladder } = await prepare(spec, options, 'status')
  return new Planner(ladder, options).plan()
}

type StepOf<Kind extends Step['do']> = Extract<Step, { do: Kind }>
type BuildPlan =
  | { readonly kind: 'join' }
  /** `registered`: the id of one that is there and waits to be started. */
  | { readonly kind: 'build'; readonly registered: string | undefined }
  /** It is ready by now. */
  | { readonly kind: 'reuse' }
  | { readonly kind: 'leave'; readonly reason: string }

const NO_BUILD = { wouldBuild: undefined, wouldTakeOver: undefined, wouldJoin: undefined } as const

/** Takes the steps of the ladder as far as they can be taken by asking. */
class Planner {
  readonly #ladder: PreparedLadder
  readonly #options: ResolvedOptions
  readonly #missed: PlannedMiss[] = []
  #facts: Facts = NO_FACTS
  #building: Pick<TemplatePlan, 'wouldBuild' | 'wouldTakeOver' | 'wouldJoin'> = NO_BUILD

  constructor(ladder: PreparedLadder, options: ResolvedOptions) {
    this.#ladder = ladder
    this.#options = options
  }

  async plan(): Promise<TemplatePlan> {
    const { refused, unresolved } = this.#ladder
    for (const above of [refused, unresolved]) {
      if (above !== undefined) this.#missed.push({ rung: 'exact', ref: above.ref, reason: above.message })
    }
    const booted = await this.#climb()
    if (booted?.thenBuild !== undefined) await this.#planBackground(booted.role, booted.thenBuild)
    const first = this.#ladder.candidates[0]
    const wanted = this.#ladder.targets.get('wanted')
    const ref = refused?.ref ?? first?.ref ?? ''
    return Object.freeze({
      ref,
      ready: booted?.ref === ref && (booted.fact === 'readyBoot' || booted.fact === 'listedBoot'),
      rung: booted?.rung,
      boots: booted?.ref,
      wouldBootStale: booted?.rung === 'stale',
      ...this.#building,
      unpinned: Object.freeze(wanted === undefined ? [] : await unpinnedOf(wanted)),
      missed: Object.freeze([...this.#missed]),
    })
  }

  async #climb(): Promise<StepOf<'boot'> | undefined> {
    for (let steps = 0; steps < MOST_STEPS; steps += 1) {
      this.#options.signal.throwIfAborted()
      const step = nextStep(this.#ladder.candidates, this.#facts)
      switch (step.do) {
        case 'list':
          // Plans go by the status, which says more than the tag.
          this.#learn(step.role, { listed: 'unlisted' })
          break
        case 'ask':
          // oxlint-disable-next-line no-await-in-loop -- each step follows from the answers before it
          this.#learn(step.role, { [step.fact]: await this.#ask(step) })
          break
        case 'build':
          // oxlint-disable-next-line no-await-in-loop
          this.#learn(step.role, { [step.fact]: await this.#build(step) })
          break
        case 'skip':
          this.#miss(step, 'the account is at a limit')
          this.#learn(step.role, { [step.fact]: { kind: 'skipped' } })
          break
        case 'boot':
          // oxlint-disable-next-line no-await-in-loop
          if (await this.#isThere(step)) return step
          this.#miss(step, 'there is no such template')
          this.#learn(step.role, { [step.fact]: 'missing' })
          break
        case 'give-up':
          return undefined
        default:
          return unreachable(step)
      }
    }
    return undefined
  }

  async #ask(step: StepOf<'ask'>): Promise<Readiness> {
    const readiness = await this.#readiness(step.ref)
    if (readiness === 'missing') this.#miss(step, 'no build of it is ready')
    if (readiness === 'foreign') this.#miss(step, 'the name belongs to another account')
    return readiness
  }

  /** A session would find out by its create; a plan does not say what it was not told. */
  async #readiness(ref: string): Promise<Readiness> {
    const { api, signal } = this.#options
    return lookAgain(() => api.status(ref, signal), this.#options)
  }

  /** What was asked for before is there; the template of somebody else's is asked for now. */
  async #isThere({ ref, role }: StepOf<'boot'>): Promise<boolean> {
    const isOurs = this.#ladder.targets.has(role)
    return isOurs || (await this.#readiness(ref)) !== 'missing'
  }

  async #build(step: StepOf<'build'>): Promise<BuildOutcome> {
    const { ref, role } = step
    const plan = await this.#planBuild(role, step.force, role === 'default')
    this.#note(plan, ref)
    switch (plan.kind) {
      case 'join':
      case 'reuse':
        return { kind: 'joined' }
      case 'build':
        return { kind: 'built' }
      case 'leave':
        this.#miss(step, plan.reason)
        return { kind: 'failed', code: 'BUILD_BACKOFF' }
      default:
        return unreachable(plan)
    }
  }

  async #planBackground(role: Role, { force, ref }: { readonly ref: string; readonly force: boolean }): Promise<void> {
    const plan = await this.#planBuild(role, force, false)
    this.#note(plan, ref)
    if (plan.kind === 'leave') this.#miss({ rung: 'built', ref }, plan.reason)
  }

  #note(plan: BuildPlan, ref: string): void {
    if (plan.kind === 'join') this.#building = { ...NO_BUILD, wouldJoin: ref }
    if (plan.kind === 'build') this.#building = { ...NO_BUILD, wouldBuild: ref, wouldTakeOver: plan.registered }
  }

  /** What the build policy would do after its first look, with the lease of the ref in hand. */
  async #planBuild(role: Role, force: boolean, despiteFailure: boolean): Promise<BuildPlan> {
    const { api, clock } = this.#options
    const target = this.#ladder.targets.get(role)
    if (target === undefined) throw new TypeError(`The ladder has nothing to build for '${role}'`)
    const uploads = async (): Promise<boolean> => copiesFiles(await buildBodyOf(target.template))
    const asked = { isOurs: () => false, isLeft: (id: string) => isUnstarted(api.scope, id), uploads }
    const { found } = await lookAgain(() => findBuild(target, this.#options, asked), this.#options)
    const { ref } = target
    const remembered = rememberedFailure(`${api.scope}\n${ref}`, clock.now())?.message
    const step = firstBuildStep({ ref, force, despiteFailure, remembered }, found)
    switch (step.do) {
      case 'await':
        return { kind: 'join' }
      case 'finish':
        return { kind: 'reuse' }
      case 'fail':
        return { kind: 'leave', reason: step.failure.message }
      case 'start':
        return (await this.#whyUnreadable(target)) ?? { kind: 'build', registered: step.registered?.buildId }
      case 'claim':
      case 'look':
      case 'pause':
        throw new TypeError(`The build policy cannot '${step.do}' after a first look with the lease`)
      default:
        return unreachable(step)
    }
  }

  /** What a build would be refused for before it is requested. Templates without files are read from no disk. */
  async #whyUnreadable({ ref, template }: BuildTarget): Promise<BuildPlan | undefined> {
    if (!copiesFiles(await buildBodyOf(template)) || makesFiles(template)) return undefined
    try {
      await assertSources(ref, template)
      return undefined
    } catch (error) {
      if (!isResolutionError(error)) throw error
      return { kind: 'leave', reason: error.message }
    }
  }

  #miss({ ref, rung }: Pick<PlannedMiss, 'ref' | 'rung'>, reason: string): void {
    this.#missed.push({ rung, ref, reason: this.#ladder.redactor.text(reason) })
  }

  #learn(role: Role, answers: CandidateFacts): void {
    this.#facts = learn(this.#facts, role, answers)
  }
}
