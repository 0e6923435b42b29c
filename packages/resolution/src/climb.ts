import { classifyBootError } from './classify.ts'
import { heal, tagsLeftBehind } from './advance.ts'
import { inBackground } from './background.ts'
import { isAccountFailure } from './code-classes.ts'
import { AttemptLog, createEmitter } from './emitter.ts'
import { ResolutionError, withAttempts } from './errors.ts'
import type { Attempt, ResolutionListener, Rung } from './events.ts'
import {
  type BuildOutcome,
  type Candidate,
  type Facts,
  learn,
  MOST_STEPS,
  NO_FACTS,
  nextStep,
  type Readiness,
  type Role,
  type Step,
} from './ladder.ts'
import { obtain } from './obtain.ts'
import type { ResolvedOptions } from './options.ts'
import { type PreparedLadder, prepareLadder } from './prepare.ts'
import type { TemplateSpec } from './spec.ts'
import type { BuildTarget } from './target.ts'

export interface BootResult<T> {
  readonly value: T
  /** What was booted. */
  readonly ref: string
  readonly rung: Rung
  /** Every rung tried, the successful one last. */
  readonly attempts: readonly Attempt[]
}

/** What is done with a ref that should work. */
export interface Goal<T> {
  readonly outcome: 'booted' | 'resolved'
  readonly boot: (candidate: Candidate, ref: string, signal: AbortSignal, rung: Rung) => Promise<T>
  /** Booting finds out by itself whether a ref is ready, so a question that failed is no end. */
  readonly isAskedAgain: boolean
}

/** Takes one step of the ladder after the other until a boot succeeds or nothing is left. */
export async function climb<T>(
  spec: TemplateSpec | undefined,
  options: ResolvedOptions,
  goal: Goal<T>,
): Promise<BootResult<T>> {
  options.signal.throwIfAborted()
  const ladder = await prepareLadder(spec, options)
  return new Climb(ladder, options, goal).run()
}

type Booted<T> = { readonly value: T } | 'unusable'

class Climb<T> {
  readonly #ladder: PreparedLadder
  readonly #options: ResolvedOptions
  readonly #goal: Goal<T>
  readonly #emit: ResolutionListener
  readonly #log: AttemptLog
  #facts: Facts = NO_FACTS
  #lastError: unknown

  constructor(ladder: PreparedLadder, options: ResolvedOptions, goal: Goal<T>) {
    this.#ladder = ladder
    this.#options = options
    this.#goal = goal
    this.#emit = createEmitter(options.onEvent, ladder.redactor)
    this.#log = new AttemptLog(this.#emit, ladder.redactor, () => options.clock.now())
  }

  async run(): Promise<BootResult<T>> {
    this.#tellBeforehand()
    for (let steps = 0; steps < MOST_STEPS; steps += 1) {
      this.#options.signal.throwIfAborted()
      const step = nextStep(this.#ladder.candidates, this.#facts)
      switch (step.do) {
        case 'ask':
          await this.#ask(step)
          break
        case 'build':
          await this.#build(step)
          break
        case 'skip':
          this.#skip(step)
          break
        case 'boot': {
          const booted = await this.#boot(step)
          if (booted !== 'unusable') {
            return { value: booted.value, ref: step.ref, rung: step.rung, attempts: this.#log.all }
          }
          break
        }
        case 'give-up':
          throw this.#exhausted(step.because)
      }
    }
    throw this.#exhausted('exhausted')
  }

  #tellBeforehand(): void {
    const { refused, warnings } = this.#ladder
    for (const warning of warnings) this.#emit(warning)
    if (refused === undefined) return
    const { ref, code, message } = refused
    this.#log.add({ rung: 'exact', ref, outcome: 'refused', code, reason: message })
    this.#emit({ type: 'warning', code, message, ref })
  }

  async #ask({ fact, ref, role, rung }: Extract<Step, { do: 'ask' }>): Promise<void> {
    const readiness = await this.#readiness(ref)
    this.#facts = learn(this.#facts, role, fact, readiness)
    if (readiness === 'foreign') {
      const reason = 'The name belongs to another account'
      this.#log.add({ rung, ref, outcome: 'refused', code: 'TEMPLATE_FOREIGN', reason })
    }
    // Fallback and default go on to be built on the same rung, which tells how that ended.
    if (readiness === 'missing' && (rung === 'exact' || rung === 'stale')) {
      this.#log.add({ rung, ref, outcome: 'missing' })
    }
  }

  async #readiness(ref: string): Promise<Readiness> {
    const { api, signal } = this.#options
    try {
      return await api.status(ref, signal)
    } catch (error) {
      if (!this.#isDegradable(error) || !this.#goal.isAskedAgain) throw this.#withAttempts(error)
      this.#lastError = error
      return 'unanswered'
    }
  }

  async #build({ fact, force, ref, role, rung }: Extract<Step, { do: 'build' }>): Promise<void> {
    const outcome = await this.#obtain(role, rung, ref, force)
    this.#facts = learn(this.#facts, role, fact, outcome)
  }

  async #obtain(role: Role, rung: Rung, ref: string, force: boolean): Promise<BuildOutcome> {
    try {
      // The default template is the last one there is: better tried in vain than not at all.
      const despiteFailure = role === 'default'
      const { how } = await obtain(this.#targetOf(role), this.#obtainContext(), {
        force,
        background: false,
        despiteFailure,
      })
      return { kind: how }
    } catch (error) {
      if (!this.#isDegradable(error)) throw this.#withAttempts(error)
      this.#lastError = error
      const { code, message: reason } = error
      const outcome = code === 'BUILD_BACKOFF' ? 'skipped' : 'failed'
      this.#log.add({ rung, ref, outcome, code, reason })
      return { kind: 'failed', code }
    }
  }

  #skip({ fact, ref, role, rung }: Extract<Step, { do: 'skip' }>): void {
    this.#facts = learn(this.#facts, role, fact, { kind: 'skipped' })
    const reason = 'A build was refused for a limit of the account, so no other is started'
    this.#log.add({ rung, ref, outcome: 'skipped', code: 'QUOTA_EXCEEDED', reason })
  }

  async #boot(step: Extract<Step, { do: 'boot' }>): Promise<Booted<T>> {
    const { fact, ref, role, rung } = step
    const { signal } = this.#options
    const candidate = this.#candidateOf(role)
    try {
      const value = await this.#goal.boot(candidate, ref, signal, rung)
      this.#log.add({ rung, ref, outcome: this.#goal.outcome })
      this.#afterwards(step)
      return { value }
    } catch (error) {
      if (classifyBootError(error) === 'propagate') {
        this.#log.add({ rung, ref, outcome: 'failed', reason: error instanceof Error ? error.message : String(error) })
        throw error
      }
      this.#lastError = error
      this.#facts = learn(this.#facts, role, fact, 'unusable')
      this.#log.add({ rung, ref, outcome: 'unusable', code: 'TEMPLATE_UNUSABLE' })
      if (candidate.kind === 'existing') {
        const message = `The template '${ref}' does not exist or cannot be booted`
        this.#emit({ type: 'warning', code: 'TEMPLATE_MISSING', message, ref })
      }
      return 'unusable'
    }
  }

  /** What the session need not wait for. It begins after the boot, so that a start which fails leaves nothing behind. */
  #afterwards({ ref, role, rung, thenBuild }: Extract<Step, { do: 'boot' }>): void {
    const target = this.#ladder.targets.get(role)
    if (target === undefined) return
    const context = { ...this.#obtainContext(), signal: new AbortController().signal }
    if (thenBuild !== undefined) {
      const options = { force: thenBuild.force, background: true, despiteFailure: false }
      this.#leave(obtain(target, context, options), target.ref)
    } else if (rung === 'exact' && target.isCurrent !== undefined) {
      this.#leave(heal({ ...target, ref }, context, tagsLeftBehind), ref)
    }
  }

  #leave(work: Promise<unknown>, ref: string): void {
    const tracked = inBackground(work, ref, this.#emit)
    this.#options.waitUntil?.(tracked)
  }

  #obtainContext() {
    const { api, buildTimeoutMs, clock, random, signal } = this.#options
    return { api, buildTimeoutMs, clock, random, signal, emit: this.#emit }
  }

  #candidateOf(role: Role): Candidate {
    const candidate = this.#ladder.candidates.find((each) => each.role === role)
    if (candidate === undefined) throw new TypeError(`The ladder has no candidate '${role}'`)
    return candidate
  }

  #targetOf(role: Role): BuildTarget {
    const target = this.#ladder.targets.get(role)
    if (target === undefined) throw new TypeError(`The ladder has nothing to build for '${role}'`)
    return target
  }

  /** A failure of this template; one of the account would meet every other template too. */
  #isDegradable(error: unknown): error is ResolutionError {
    return !this.#options.signal.aborted && error instanceof ResolutionError && !isAccountFailure(error.code)
  }

  #withAttempts(error: unknown): unknown {
    const told = error instanceof ResolutionError ? withAttempts(error, this.#log.all) : error
    return this.#ladder.redactor.error(told)
  }

  #exhausted(because: 'exhausted' | 'strict'): ResolutionError {
    const attempts = this.#log.all
    const cause = this.#ladder.redactor.error(this.#lastError)
    if (because === 'strict') {
      const ref = attempts.at(-1)?.ref ?? ''
      return new ResolutionError({
        code: 'TEMPLATE_MISSING',
        message: `The template '${ref}' does not exist or cannot be booted`,
        hint: 'Correct its name, or leave strictTemplate unset to start from the default template',
        cause,
        attempts,
      })
    }
    const tried = attempts.map(({ rung, ref, outcome }) => `${rung} '${ref}' ${outcome}`).join(', ')
    return new ResolutionError({
      code: 'LADDER_EXHAUSTED',
      message: `No template could be booted: ${tried}`,
      hint: 'See attempts for the reason of each, and the cause for the last failure',
      cause,
      attempts,
    })
  }
}
