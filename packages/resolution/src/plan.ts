import type { ConnectionOpts } from 'e2b'
import { isAccountFailure } from './code-classes.ts'
import { isResolutionError } from './errors.ts'
import type { Rung } from './events.ts'
import { rememberedFailure } from './failure-memory.ts'
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
import { isRecord, refuseInput } from './option-checks.ts'
import { type ResolvedOptions, resolveOptions, type ResolveTemplateOptions } from './options.ts'
import { prepare } from './prepare-resolution.ts'
import type { PreparedLadder } from './prepare.ts'
import { createTemplateApi } from './sdk-template-api.ts'
import type { TemplateSpec } from './spec.ts'
import { unreachable } from './unreachable.ts'
import { type Unpinned, unpinnedOf } from './unpinned.ts'
import { buildBodyOf, copiesFiles } from './template-content.ts'

/** The connection to E2B, and what a session would be started with. */
export interface PlanConnection
  extends
    ConnectionOpts,
    Pick<ResolveTemplateOptions, 'resources' | 'strictTemplate' | 'clock'>,
    Partial<Pick<ResolveTemplateOptions, 'api'>> {}

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
  /** The ref whose running build it would wait for, or leave to whoever runs it. */
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
  if (!isRecord(connection)) refuseInput('The connection is not an object', 'Write it like { apiKey }, or leave it out')
  const { api: given, clock, resources, signal, strictTemplate, ...endpoint } = connection
  const api = given ?? createTemplateApi(endpoint)
  const options = resolveOptions({ api, clock, resources, signal, strictTemplate })
  const { ladder } = await prepare(spec, options, 'status')
  return new Planner(ladder, options).plan()
}

type StepOf<Kind extends Step['do']> = Extract<Step, { do: Kind }>
type BuildPlan =
  | { readonly kind: 'join' }
  | { readonly kind: 'build' }
  | { readonly kind: 'leave'; readonly reason: string }

/** Takes the steps of the ladder as far as they can be taken by asking. */
class Planner {
  readonly #ladder: PreparedLadder
  readonly #options: ResolvedOptions
  readonly #missed: PlannedMiss[] = []
  #facts: Facts = NO_FACTS
  #building: { readonly wouldBuild?: string; readonly wouldJoin?: string } = {}

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
      wouldBuild: this.#building.wouldBuild,
      wouldJoin: this.#building.wouldJoin,
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

  async #readiness(ref: string): Promise<Readiness> {
    const { api, signal } = this.#options
    try {
      return await api.status(ref, signal)
    } catch (error) {
      if (signal.aborted || !isResolutionError(error) || isAccountFailure(error.code)) throw error
      return error.code === 'QUOTA_EXCEEDED' || error.code === 'RATE_LIMITED' ? 'limited' : 'unanswered'
    }
  }

  /** What was asked for before is there; the template of somebody else's is asked for now. */
  async #isThere({ ref, role }: StepOf<'boot'>): Promise<boolean> {
    const isOurs = this.#ladder.targets.has(role)
    return isOurs || (await this.#readiness(ref)) !== 'missing'
  }

  async #build(step: StepOf<'build'>): Promise<BuildOutcome> {
    const { ref, role } = step
    const plan = await this.#planBuild(role, step.force, role === 'default')
    switch (plan.kind) {
      case 'join':
        this.#building = { wouldJoin: ref }
        return { kind: 'joined' }
      case 'build':
        this.#building = { wouldBuild: ref }
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
    if (plan.kind === 'join') this.#building = { wouldJoin: ref }
    if (plan.kind === 'build') this.#building = { wouldBuild: ref }
    if (plan.kind === 'leave') this.#missed.push({ rung: 'built', ref, reason: plan.reason })
  }

  /** As the build policy decides before anything was started. */
  async #planBuild(role: Role, force: boolean, despiteFailure: boolean): Promise<BuildPlan> {
    const { api, clock } = this.#options
    const target = this.#ladder.targets.get(role)
    if (target === undefined) throw new TypeError(`The ladder has nothing to build for '${role}'`)
    const { found } = await findBuild(target, this.#options, {
      isOurs: () => false,
      uploads: async () => copiesFiles(await buildBodyOf(target.template)),
    })
    if (found.kind === 'running' && !found.abandoned) return { kind: 'join' }
    if (force || despiteFailure) return { kind: 'build' }
    if (found.kind === 'broken' && found.isFresh) return { kind: 'leave', reason: found.failure.message }
    const remembered = rememberedFailure(`${api.scope}\n${target.ref}`, clock.now())
    return remembered === undefined ? { kind: 'build' } : { kind: 'leave', reason: remembered.message }
  }

  #miss({ ref, rung }: { readonly ref: string; readonly rung: Rung }, reason: string): void {
    this.#missed.push({ rung, ref, reason: this.#ladder.redactor.text(reason) })
  }

  #learn(role: Role, answers: CandidateFacts): void {
    this.#facts = learn(this.#facts, role, answers)
  }
}
