import type { Attempt, ResolutionEvent, ResolutionListener, Rung } from './events.ts'
import type { Redactor } from './redact.ts'
import { tell } from './tell.ts'
import { unreachable } from './unreachable.ts'

/** The same event with every text that could quote a build redacted. Refs, tags and codes are ours and hold no secret. */
function redactEvent(event: ResolutionEvent, { text }: Redactor): ResolutionEvent {
  const reason = 'reason' in event && event.reason !== undefined ? { reason: text(event.reason) } : {}
  switch (event.type) {
    case 'build-log':
      return { ...event, line: text(event.line) }
    case 'warning':
      return { ...event, message: text(event.message) }
    case 'rung':
    case 'create':
    case 'resolution-end':
    case 'build-end':
    case 'advance':
      return { ...event, ...reason }
    case 'build-start':
    case 'build-joined':
    case 'build-taken-over':
      return event
    default:
      return unreachable(event)
  }
}

/** Redacts each event and hands it on. */
export function createEmitter(listener: ResolutionListener | undefined, redactor: Redactor): ResolutionListener {
  if (listener === undefined) return () => undefined
  return (event) => {
    tell(listener, Object.freeze(redactEvent(event, redactor)), () => {
      // Telling is no part of the work: a broken listener must not cost a session its sandbox, and there is no channel
      // left to report it on.
    })
  }
}

/** Keeps the attempts of one resolution and tells each as it is made. */
export class AttemptLog {
  readonly #attempts: Attempt[] = []
  readonly #emit: ResolutionListener
  readonly #redactor: Redactor
  readonly #now: () => number
  #since: number

  constructor(emit: ResolutionListener, redactor: Redactor, now: () => number) {
    this.#emit = emit
    this.#redactor = redactor
    this.#now = now
    this.#since = now()
  }

  get all(): readonly Attempt[] {
    return Object.freeze([...this.#attempts])
  }

  has(rung: Rung, ref: string): boolean {
    return this.#attempts.some((attempt) => attempt.rung === rung && attempt.ref === ref)
  }

  /** Attempts follow each other without a gap, so each lasted since the one before it. */
  add(attempt: Omit<Attempt, 'durationMs'>): void {
    const now = this.#now()
    const reason = attempt.reason === undefined ? {} : { reason: this.#redactor.text(attempt.reason) }
    const complete: Attempt = Object.freeze({ ...attempt, ...reason, durationMs: Math.max(0, now - this.#since) })
    this.#since = now
    this.#attempts.push(complete)
    this.#emit({ type: 'rung', ...complete })
  }
}
