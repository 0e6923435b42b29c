import { type Attempt, WarmboxError } from '@warmbox/resolution'

/** Every code an {@link E2BSandboxError} can carry. */
export type E2BSandboxErrorCode =
  /** An option or argument is malformed, or two exclude each other. Nothing was requested. */
  | 'INVALID_OPTION'
  /** A command, or a variable of its environment, is longer than Linux hands to a process. Nothing was requested. */
  | 'ARGUMENT_TOO_LONG'
  /** No API key was given and E2B_API_KEY is not set. Nothing was requested. */
  | 'MISSING_API_KEY'
  /** The sandbox was not started, or was stopped or destroyed, so there is nothing to hand out. */
  | 'NOT_STARTED'
  /** An abort signal fired, or `stop` or `destroy` ended a start in flight. `cause` is the reason. */
  | 'ABORTED'
  /** The sandbox was destroyed by this instance, or is about to be: the instance starts no other. */
  | 'DESTROYED'
  /** The sandbox no longer exists, or is paused. */
  | 'SANDBOX_GONE'
  /** The sandbox of the `sandboxId` option does not carry the `id` option. It was left alone. */
  | 'SANDBOX_FOREIGN'
  /** Too many sandboxes of one id were created in short time, none of which was destroyed. Nothing was requested. */
  | 'CREATE_STORM'
  /** The sandbox exists and runs, but refused or lost this request. What was asked did not begin. */
  | 'SANDBOX_UNREACHABLE'
  /** The stream of a running command broke while the sandbox stayed alive. The command may still run: look before a second run. */
  | 'CONNECTION_LOST'
  /** The template does not exist, and neither does the default template built in its place. */
  | 'TEMPLATE_MISSING'
  /** The template was built so long ago that its daemon does not speak to this SDK. */
  | 'TEMPLATE_OUTDATED'
  /** The platform answered 401. */
  | 'AUTHENTICATION'
  /** The platform answered 403. */
  | 'FORBIDDEN'
  /**
   * The platform answered 429: too many requests, or a limit of the plan. The SDK's error does not tell which of the two;
   * a `ResolutionError` of a template call does, with `QUOTA_EXCEEDED` for the latter.
   */
  | 'RATE_LIMITED'
  /** The platform answered 503 and changed nothing. */
  | 'SERVICE_BUSY'
  /** The platform answered 400, or the SDK refused an argument. */
  | 'BAD_REQUEST'
  /** A file, directory, process or other thing inside the sandbox does not exist. */
  | 'NOT_FOUND'
  /** The platform answered 409: the sandbox is in transition. */
  | 'CONFLICT'
  /** A file system could not be mounted or unmounted. */
  | 'MOUNT_FAILED'
  /** The sandbox's disk is full. */
  | 'DISK_FULL'
  /** The platform answered 5xx or something it should not. */
  | 'PLATFORM'
  /** No answer arrived: DNS, connection or TLS. */
  | 'NETWORK'
  /** The platform did not answer within the request timeout. */
  | 'REQUEST_TIMEOUT'
  /** The process has ended, so it takes no input. */
  | 'PROCESS_ENDED'
  /** The process was started with `stdinMode: 'ignore'`, or its stdin was closed, so it takes no input. */
  | 'STDIN_CLOSED'

export interface E2BSandboxErrorOptions {
  code: E2BSandboxErrorCode
  /** What was wrong, in one sentence. */
  message: string
  /** What to do or write instead. */
  hint?: string | undefined
  cause?: unknown
  /** HTTP status behind the error, where there was one. */
  status?: number | undefined
  /** What was tried before, where it ended a start. */
  attempts?: readonly Attempt[] | undefined
}

/** What this package throws. Decide on `code`. No message, cause or JSON form of it holds the API key. */
export class E2BSandboxError extends WarmboxError<E2BSandboxErrorCode> {
  readonly status: number | undefined
  /** Every rung of the ladder that was tried, where the error ended a start. */
  readonly attempts: readonly Attempt[]

  constructor(options: E2BSandboxErrorOptions) {
    super(options)
    this.name = 'E2BSandboxError'
    this.status = options.status
    this.attempts = Object.freeze([...(options.attempts ?? [])])
  }

  override toJSON(): ReturnType<WarmboxError<E2BSandboxErrorCode>['toJSON']> & { attempts?: readonly Attempt[] } {
    return { ...super.toJSON(), ...(this.attempts.length === 0 ? {} : { attempts: this.attempts }) }
  }
}

/** The same error with the attempts made before it; an error of another kind is passed on as it is. */
export function withAttempts(error: unknown, attempts: readonly Attempt[]): unknown {
  if (!(error instanceof E2BSandboxError) || attempts.length === 0) return error
  const { cause, code, hint, message, status } = error
  return new E2BSandboxError({ code, message, hint, cause, status, attempts })
}

/** The error of an operation that `reason` ended; an error of that kind is passed on as it is. */
export function abortedError(operation: string, reason: unknown): E2BSandboxError {
  return reason instanceof E2BSandboxError && reason.code === 'ABORTED'
    ? reason
    : new E2BSandboxError({ code: 'ABORTED', message: `${operation} was aborted`, cause: reason })
}
