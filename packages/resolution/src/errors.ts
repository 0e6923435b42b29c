import { WarmboxError, type WarmboxErrorOptions } from '@warmbox/identity'
import type { Attempt } from './events.ts'

/** Every code a {@link ResolutionError} can carry. */
export type ResolutionErrorCode =
  /** A spec, ref, tag, size or option is malformed. Nothing was requested. */
  | 'INVALID_SPEC'
  /** A value cannot be written as one shell word. */
  | 'INVALID_SHELL_WORD'
  /** No API key was given and E2B_API_KEY is not set. Nothing was requested. */
  | 'MISSING_API_KEY'
  /** The platform answered 401. */
  | 'AUTHENTICATION'
  /** The platform answered 403: banned or blocked account, or a template of another account. */
  | 'FORBIDDEN'
  /**
   * A template call was answered 429 without Retry-After: a limit of the plan, such as concurrent builds, is reached. The
   * SDK's own build call, which a template with COPY steps takes, hides the header: a 429 there counts as this too. A 429
   * to create is an error of `boot`, which propagates as it is.
   */
  | 'QUOTA_EXCEEDED'
  /** A template call was answered 429 with Retry-After: too many requests. */
  | 'RATE_LIMITED'
  /** The platform answered 503. */
  | 'SERVICE_BUSY'
  /** The platform answered 400. */
  | 'BAD_REQUEST'
  /** The platform answered 404. */
  | 'NOT_FOUND'
  /** The platform answered 409. */
  | 'CONFLICT'
  /** The platform answered 5xx or something it should not. */
  | 'PLATFORM'
  /** No answer arrived: DNS, connection or TLS. */
  | 'NETWORK'
  /** The platform did not answer within the request timeout. */
  | 'REQUEST_TIMEOUT'
  /** The files of a COPY step did not arrive. */
  | 'UPLOAD_FAILED'
  /** The build failed in a step of the template, or in making the files one copies (`step` is `files`). */
  | 'BUILD_STEP_FAILED'
  /** The build failed for a reason outside the template's steps. */
  | 'BUILD_FAILED'
  /** The build did not end within `buildTimeoutMs`. It may still end well on the platform's side. */
  | 'BUILD_TIMEOUT'
  /** A build of this ref failed in this process not long ago and is not tried again yet. */
  | 'BUILD_BACKOFF'
  /** The ref cannot be booted; thrown by `boot` to move to the next rung. */
  | 'TEMPLATE_UNUSABLE'
  /** The ref belongs to another account. */
  | 'TEMPLATE_FOREIGN'
  /** `strictTemplate` is set and the template does not exist. */
  | 'TEMPLATE_MISSING'
  /** The spec says that access to its content was refused. */
  | 'ACCESS_REFUSED'
  /** Every rung was tried and none gave a bootable ref. */
  | 'LADDER_EXHAUSTED'

export interface ResolutionErrorOptions extends WarmboxErrorOptions<ResolutionErrorCode> {
  attempts?: readonly Attempt[] | undefined
  /** HTTP status behind the error. */
  status?: number | undefined
  /** The failing build step. */
  step?: string | undefined
}

/** Survives the ESM and the CJS copy of this package in one process, and two installed versions. */
const marker = Symbol.for('warmbox.resolution.error')

/** What this package throws. Decide on `code`; `attempts` tells each rung that was tried before. */
export class ResolutionError extends WarmboxError<ResolutionErrorCode> {
  readonly attempts: readonly Attempt[]
  readonly status: number | undefined
  readonly step: string | undefined

  constructor(options: ResolutionErrorOptions) {
    super(options)
    this.name = 'ResolutionError'
    this.attempts = Object.freeze([...(options.attempts ?? [])])
    this.status = options.status
    this.step = options.step
    Object.defineProperty(this, marker, { value: true })
  }

  override toJSON(): ReturnType<WarmboxError<ResolutionErrorCode>['toJSON']> & {
    attempts?: readonly Attempt[]
    status?: number
    step?: string
  } {
    return {
      ...super.toJSON(),
      ...(this.attempts.length === 0 ? {} : { attempts: this.attempts }),
      ...(this.status === undefined ? {} : { status: this.status }),
      ...(this.step === undefined ? {} : { step: this.step }),
    }
  }
}

/** True for a {@link ResolutionError}, also one of another copy of this package, where `instanceof` fails. */
export const isResolutionError = (value: unknown): value is ResolutionError =>
  typeof value === 'object' && value !== null && marker in value

/** Thrown by a `boot` callback when the ref it was given cannot be booted: the ladder moves to the next rung. */
export class TemplateUnusableError extends ResolutionError {
  readonly ref: string

  constructor(ref: string, options: { cause?: unknown; message?: string } = {}) {
    super({
      code: 'TEMPLATE_UNUSABLE',
      message: options.message ?? `The template '${ref}' cannot be booted`,
      cause: options.cause,
    })
    this.name = 'TemplateUnusableError'
    this.ref = ref
  }
}

/** The same error with the attempts made before it. */
export function withAttempts(error: ResolutionError, attempts: readonly Attempt[]): ResolutionError {
  const { code, message, hint, cause, status, step } = error
  return new ResolutionError({ code, message, hint, cause, status, step, attempts })
}

/** Where attempts are kept on an error that is not ours to change: hidden, and known to every copy of this package. */
const attemptsKey = Symbol.for('warmbox.resolution.attempts')

/** Notes the attempts on an error that propagates as the same object. A frozen error is left without. */
export function noteAttempts(error: unknown, attempts: readonly Attempt[]): void {
  if (typeof error !== 'object' || error === null) return
  Reflect.defineProperty(error, attemptsKey, { value: attempts, configurable: true, writable: true })
}

/**
 * Every rung that was tried before `bootFromSpec` or `resolveTemplate` rejected with this error, the last one included:
 * also for errors of `boot`, which propagate unchanged, and for the reason of an abort, without the rung that was cut
 * off. A reason that ended several resolutions tells of the last one. Empty for any other error, and for what cannot carry
 * them: a primitive value or a frozen object.
 */
export function attemptsOf(error: unknown): readonly Attempt[] {
  if (isResolutionError(error) && error.attempts.length > 0) return error.attempts
  if (typeof error !== 'object' || error === null) return []
  const noted: unknown = Reflect.get(error, attemptsKey)
  return isAttempts(noted) ? noted : []
}

const isAttempts = (value: unknown): value is readonly Attempt[] => Array.isArray(value)
