import { Aftermath } from './aftermath.ts'
import { leaveRunning } from './background.ts'
import type { BootAnswer } from './boot-once.ts'
import { isAccountFailure } from './code-classes.ts'
import { describeError } from './describe-error.ts'
import { AttemptLog, createEmitter } from './emitter.ts'
import { isResolutionError, noteAttempts, type ResolutionError, withAttempts } from './errors.ts'
import type { Attempt, ResolutionListener, Rung } from './events.ts'
import { finalError } from './final-error.ts'
import type { Goal } from './goal.ts'
import {
  type BuildOutcome,
  type Candidate,
  type CandidateFacts,
  type Facts,
  learn,
  type Listed,
  MOST_STEPS,
  NO_FACTS,
  type NoAnswer,
  nextStep,
  type Readiness,
  type Role,
  type Step,
} from './ladder.ts'
import { lookAgain } from './look-again.ts'
import { obtain } from './obtain.ts'
import type { ResolvedOptions } from './options.ts'
import type { Preparation } from './prepare-resolution.ts'
import { createRedactor } from './redact.ts'
import { splitRef } from './refs.ts'

export interface BootResult<T> {
  readonly value: T
  /** What was booted. */
  readonly ref: string
  readonly rung: Rung
  /** Every rung tried, the successful one last. */
  readonly attempts: readonly Attempt[]
}

type StepOf<Kind extends Step['do']> = Extract<Step, { do: Kind }>

/** Takes one step of the ladder after the other until a boot succeeds or nothing is left. */
export async function climb<T>(
  prepare: () => Promise<Preparation>,
  options: ResolvedOptions,
  goal: Goal<T>,
): Promise<BootResult<T>> {
  const { clock, onEvent, signal } = options
  const startedAt = clock.now()
  const elapsed = (): number => Math.max(0, clock.now() - startedAt)
  let emit = createEmitter(onEvent, createRedactor([]))
  let climbing: Climb<T> | undefined
  try {
    signal.throwIfAborted()
    const preparation = await prepare()
    emit = createEmitter(onEvent, preparation.ladder.redactor)
    climbing = new Climb(preparation, options, goal, emit)
    const { step, value, attempts } = await climbing.run()
    const { ref, rung } = step
    const outcome = goal.kind === 'boot' ? 'booted' : 'resolved'
    emit({ type: 'resolution-end', outcome, rung, ref, durationMs: elapsed() })
    new Aftermath(preparation.ladder.targets, options, emit).follow(step)
    return { value, ref, rung, attempts }
  } catch (error) {
    const outcome = signal.aborted ? 'aborted' : 'failed'
    // Also where there are none: the reason may have ended another resolution before.
    if (signal.aborted) noteAttempts(error, climbing?.attempts ?? [])
    emit({ type: 'resolution-end', outcome, ...describeError(error), durationMs: elapsed() })
    throw error
  }
}

interface Climbed<T> {
  readonly step: StepOf<'boot'>
  readonly value: T
  readonly attempts: readonly Attempt[]
}

class Climb<T> {
  readonly #preparation: Preparation
  readonly #options: ResolvedOptions
  readonly #goal: Goal<T>
  readonly #emit: ResolutionListener
  readonly #log: AttemptLog
  #facts: Facts = NO_FACTS
  #lastError: unknown

  constructor(preparation: Preparation, options: ResolvedOptions, goal: Goal<T>, emit: ResolutionListener) {
    this.#preparation = preparation
    this.#options = options
    this.#goal = goal
    this.#emit = emit
    this.#log = new AttemptLog(emit, preparation.ladder.redactor, () => options.clock.now())
  }

  /** Those made so far. */
  get attempts(): readonly Attempt[] {
    return this.#log.all
  }

  async run(): Promise<Climbed<T>> {
    this.#tellBeforehand()
    for (let steps = 0; steps < MOST_STEPS; steps += 1) {
      this.#options.signal.throwIfAborted()
      const step = nextStep(this.#preparation.ladder.candidates, this.#facts)
      switch (step.do) {
        case 'list':
          this.#list(step)
          break
        case 'ask':
          await this.#ask(step)
          break
        case 'build':
          this.#learn(step.role, { [step.fact]: await this.#build(step) })
          break
        case 'skip':
          this.#skip(step)
          break
        case 'boot': {
          const answer = await this.#boot(step)
          if (answer.kind === 'booted') return { step, value: answer.value, attempts: this.#log.all }
          break
        }
        case 'give-up':
          throw this.#finalError(step.because)
      }
    }
    throw this.#finalError('exhausted')
  }

  #tellBeforehand(): void {
    const { events, ladder } = this.#preparation
    for (const event of events) this.#emit(event)
    if (ladder.refused !== undefined) {
      const { ref, code, message } = ladder.refused
      this.#log.add({ rung: 'exact', ref, outcome: 'refused', code, reason: message })
      this.#emit({ type: 'warning', code, message, ref })
    }
    if (ladder.unresolved !== undefined) {
      const { ref, code, message } = ladder.unresolved
      this.#log.add({ rung: 'exact', ref, outcome: 'failed', code, reason: message })
      this.#emit({ type: 'warning', code, message, ...(ref === '' ? {} : { ref }) })
    }
  }

  #learn(role: Role, answers: CandidateFacts): void {
    this.#facts = learn(this.#facts, role, answers)
  }

  /** The answer was fetched while the spec was determined. */
  #list({ ref, role, rung, staleRef }: StepOf<'list'>): void {
    const { name } = splitRef(ref)
    const listing = this.#preparation.listings.get(name)
    if (listing === undefined) throw new TypeError(`The tags of '${name}' were not listed`)
    let listedOf: (wanted: string) => Listed
    if (listing.kind === 'failed') {
      const answer = this.#noAnswer(listing.error, rung, ref)
      listedOf = () => answer
    } else {
      const tags = new Set(listing.tags?.map(({ tag }) => tag))
      listedOf = (wanted) => (tags.has(splitRef(wanted).tag) ? 'listed' : 'unlisted')
    }
    const listed = listedOf(ref)
    if (listed === 'unlisted') this.#logMissing(rung, ref)
    if (staleRef === undefined || splitRef(staleRef).name !== name) {
      this.#learn(role, { listed })
      return
    }
    const staleListed = listedOf(staleRef)
    if (staleListed === 'unlisted' && listed === 'unlisted') this.#logMissing('stale', staleRef)
    this.#learn(role, { listed, staleListed })
  }

  async #ask({ fact, ref, role, rung }: StepOf<'ask'>): Promise<void> {
    const readiness = await this.#readiness(rung, ref)
    this.#learn(role, { [fact]: readiness })
    if (readiness === 'foreign') {
      const reason = 'The name belongs to another account'
      this.#log.add({ rung, ref, outcome: 'refused', code: 'TEMPLATE_FOREIGN', reason })
    }
    if (readiness === 'missing') this.#logMissing(rung, ref)
  }

  /** Fallback and default go on to be built on the same rung, which tells how that ended. */
  #logMissing(rung: Rung, ref: string): void {
    const isTold = this.#log.has(rung, ref)
    if ((rung === 'exact' || rung === 'stale') && !isTold) this.#log.add({ rung, ref, outcome: 'missing' })
  }

  async #readiness(rung: Rung, ref: string): Promise<Readiness> {
    const { api, signal } = this.#options
    const ask = (): Promise<Readiness> => api.status(ref, signal)
    try {
      // A create tells what could not be asked; without one the answer has to come.
      return await (this.#goal.kind === 'resolve' ? lookAgain(ask, this.#options) : ask())
    } catch (error) {
      return this.#noAnswer(error, rung, ref)
    }
  }

  /** @throws the error, where it is not about this question alone */
  #noAnswer(error: unknown, rung: Rung, ref: string): NoAnswer {
    if (!this.#isDegradable(error) || this.#goal.kind === 'resolve') throw this.#ended(error, rung, ref)
    this.#lastError = error
    return error.code === 'QUOTA_EXCEEDED' || error.code === 'RATE_LIMITED' ? 'limited' : 'unanswered'
  }

  async #build({ force, ref, role, rung }: StepOf<'build'>): Promise<BuildOutcome> {
    const { api, buildTimeoutMs, clock, lease, random, signal } = this.#options
    const context = { api, buildTimeoutMs, clock, lease, random, signal, emit: this.#emit }
    try {
      const target = this.#preparation.ladder.targets.get(role)
      if (target === undefined) throw new TypeError(`The ladder has nothing to build for '${role}'`)
      // The default template is the last one there is: better tried in vain than not at all.
      const despiteFailure = role === 'default'
      const { advancing, how } = await obtain(target, context, { force, background: false, despiteFailure })
      // The session boots meanwhile.
      leaveRunning(advancing, ref, this.#emit, this.#options.waitUntil)
      return { kind: how }
    } catch (error) {
      if (!this.#isDegradable(error)) throw this.#ended(error, rung, ref)
      this.#lastError = error
      const { code, message: reason } = error
      const outcome = code === 'BUILD_BACKOFF' ? 'skipped' : 'failed'
      this.#log.add({ rung, ref, outcome, code, reason })
      return { kind: 'failed', code }
    }
  }

  #skip({ fact, ref, role, rung }: StepOf<'skip'>): void {
    this.#learn(role, { [fact]: { kind: 'skipped' } })
    const reason = 'The account is at a limit, so no build is started'
    this.#log.add({ rung, ref, outcome: 'skipped', code: 'QUOTA_EXCEEDED', reason })
  }

  async #boot(step: StepOf<'boot'>): Promise<BootAnswer<T>> {
    const { fact, ref, role, rung } = step
    const candidate = this.#candidateOf(role)
    const { api, clock, signal } = this.#options
    let answer: BootAnswer<T>
    try {
      answer = await this.#goal.reach(candidate, rung, ref, { scope: api.scope, clock, signal, emit: this.#emit })
    } catch (error) {
      throw this.#goal.kind === 'boot' ? this.#endedBy(error, rung, ref) : this.#ended(error, rung, ref)
    }
    if (answer.kind === 'booted') {
      this.#log.add({ rung, ref, outcome: this.#goal.kind === 'boot' ? 'booted' : 'resolved' })
      return answer
    }
    const { because, error } = answer
    this.#lastError = error
    this.#learn(role, { [fact]: because })
    const reason = because === 'suspect' ? { reason: 'Creates from it fail, and nothing comes of them' } : {}
    this.#log.add({ rung, ref, outcome: 'unusable', code: 'TEMPLATE_UNUSABLE', ...reason })
    if (candidate.kind === 'existing') {
      const message = `The template '${ref}' does not exist or cannot be booted`
      this.#emit({ type: 'warning', code: 'TEMPLATE_MISSING', message, ref })
    }
    return answer
  }

  #candidateOf(role: Role): Candidate {
    const candidate = this.#preparation.ladder.candidates.find((each) => each.role === role)
    if (candidate === undefined) throw new TypeError(`The ladder has no candidate '${role}'`)
    return candidate
  }

  /** A failure of this template; one of the account would meet every other template too. */
  #isDegradable(error: unknown): error is ResolutionError {
    return !this.#options.signal.aborted && isResolutionError(error) && !isAccountFailure(error.code)
  }

  /** The error the climb ends with on this rung. */
  #ended(error: unknown, rung: Rung, ref: string): unknown {
    const told = this.#endedBy(error, rung, ref)
    if (this.#options.signal.aborted) return told
    return this.#preparation.ladder.redactor.error(isResolutionError(told) ? withAttempts(told, this.#log.all) : told)
  }

  /** The same for an error of `boot`, which is not ours: it stays the object it is. */
  #endedBy(error: unknown, rung: Rung, ref: string): unknown {
    if (this.#options.signal.aborted) return error
    this.#log.add({ rung, ref, outcome: 'failed', ...describeError(error) })
    noteAttempts(error, this.#log.all)
    return error
  }

  #finalError(because: 'exhausted' | 'strict'): ResolutionError {
    return finalError(because, this.#log.all, this.#preparation.ladder.redactor.error(this.#lastError))
  }
}
