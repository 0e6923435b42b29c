import type { BuildEvent } from './build-events.ts'
import type { Clock } from './clock.ts'
import type { ResolutionError } from './errors.ts'
import type { ResolutionListener } from './events.ts'

interface TellingContext {
  readonly background: boolean
  readonly clock: Clock
  readonly emit: ResolutionListener
}

/** Tells of the builds of one ref: of each its start and its end, or once that it was joined. */
export class BuildTelling {
  readonly #ref: string
  readonly #context: TellingContext
  /** When the build that was told of as started began; undefined once its end was told. */
  #startedAt: number | undefined
  /** Something was tried here before: what is found now may have taken its place. */
  #hasTried = false
  /** The build of somebody else's that was told of last. */
  #joined: string | undefined

  constructor(ref: string, context: TellingContext) {
    this.#ref = ref
    this.#context = context
  }

  start(): void {
    const { background, clock, emit } = this.#context
    this.#hasTried = true
    this.#startedAt = clock.now()
    emit({ type: 'build-start', ref: this.#ref, background })
  }

  /** Of a build that somebody else requested at `requestedAt` and left. */
  takeOver(buildId: string, requestedAt: number): void {
    const { background, clock, emit } = this.#context
    const waitedMs = Math.max(0, clock.now() - requestedAt)
    emit({ type: 'build-taken-over', ref: this.#ref, background, buildId, waitedMs })
    this.start()
  }

  /** Once for each: a build may be looked up again while it is awaited. */
  join(buildId: string): void {
    if (this.#joined === buildId) return
    this.#joined = buildId
    const { background, emit } = this.#context
    emit({ type: 'build-joined', ref: this.#ref, background, foundBy: this.#hasTried ? 'race' : 'tag', buildId })
  }

  /** The event, after telling what it means for the build that was started. */
  after(event: BuildEvent): BuildEvent {
    switch (event.kind) {
      case 'ready':
        this.#end('ready')
        break
      case 'failed':
      case 'refused':
        this.#end('failed', event.failure)
        break
      case 'lost':
        this.#end('aborted')
        break
      case 'begun':
      case 'claimed':
      case 'taken':
      case 'found':
      case 'paused':
      case 'started':
        break
    }
    return event
  }

  abort(): void {
    this.#end('aborted')
  }

  /** Of a build whose start was told. Joined builds have neither. */
  #end(outcome: 'ready' | 'failed' | 'aborted', failure?: ResolutionError): void {
    const { background, clock, emit } = this.#context
    const startedAt = this.#startedAt
    if (startedAt === undefined) return
    this.#startedAt = undefined
    emit({
      type: 'build-end',
      ref: this.#ref,
      background,
      outcome,
      ...(failure === undefined ? {} : { reason: failure.message }),
      ...(failure?.step === undefined ? {} : { step: failure.step }),
      durationMs: Math.max(0, clock.now() - startedAt),
    })
  }
}
