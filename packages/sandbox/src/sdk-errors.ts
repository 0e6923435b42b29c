import { isWarmboxError } from '@warmbox/resolution'
import { abortedError, E2BSandboxError, type E2BSandboxErrorCode } from './errors.ts'

/**
 * Classes of the SDK by name, since a subclass may bring an SDK with its own copy of them, where `instanceof` fails.
 * The names are set by the SDK's constructors; no text of the platform or of a user's command reaches them.
 */
const codeByClass: Readonly<Record<string, E2BSandboxErrorCode>> = {
  AuthenticationError: 'AUTHENTICATION',
  RateLimitError: 'RATE_LIMITED',
  ServiceBusyError: 'SERVICE_BUSY',
  SandboxNotFoundError: 'SANDBOX_GONE',
  FileNotFoundError: 'NOT_FOUND',
  NotFoundError: 'NOT_FOUND',
  NotEnoughSpaceError: 'DISK_FULL',
  InvalidArgumentError: 'BAD_REQUEST',
  TemplateError: 'TEMPLATE_OUTDATED',
  // The SDK's name for a stream that broke, was cancelled or met its deadline.
  TimeoutError: 'CONNECTION_LOST',
}

const codeOfStatus = (status: number): E2BSandboxErrorCode => {
  if (status === 400) return 'BAD_REQUEST'
  if (status === 401) return 'AUTHENTICATION'
  if (status === 403) return 'FORBIDDEN'
  if (status === 404) return 'NOT_FOUND'
  if (status === 409) return 'CONFLICT'
  if (status === 429) return 'RATE_LIMITED'
  if (status === 503) return 'SERVICE_BUSY'
  return 'PLATFORM'
}

const statusOf = (error: Error): number | undefined =>
  'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : undefined

/**
 * Whether `fetch` was given no answer. It tells the reason as the cause of its TypeError; one that the engine throws where
 * code goes wrong has none.
 */
const isFetchFailure = (error: Error): boolean => error instanceof TypeError && error.cause !== undefined

function codeOf(error: Error): E2BSandboxErrorCode {
  // The runtime's own errors: `AbortSignal.timeout` and `fetch`, both of which the SDK lets pass.
  if (error instanceof DOMException) return error.name === 'TimeoutError' ? 'REQUEST_TIMEOUT' : 'ABORTED'
  if (isFetchFailure(error)) return 'NETWORK'
  const status = statusOf(error)
  return codeByClass[error.name] ?? (status === undefined ? 'PLATFORM' : codeOfStatus(status))
}

const hintByCode: Partial<Record<E2BSandboxErrorCode, string>> = {
  AUTHENTICATION: 'Check the apiKey option or the environment variable E2B_API_KEY',
  FORBIDDEN: 'Check that the account is in good standing and owns what was asked for',
  RATE_LIMITED: 'Retry later, or raise the limit of the plan',
  BAD_REQUEST: 'Correct what was asked for: its message says what was refused',
  NOT_FOUND: 'Check the name or path, and that it still exists',
  CONFLICT: 'It is changing right now: retry after a short wait',
  PLATFORM: 'Retry later; where it persists, look at the cause and at the status of E2B',
  NETWORK: 'Check the network, the proxy, apiUrl and domain',
  SERVICE_BUSY: 'Nothing was changed: retry after a short wait',
  TEMPLATE_OUTDATED: 'Build the template again',
}

/** The platform quotes what it was given, a whole script where that is what it refuses. `cause` has all of it. */
const LONGEST_QUOTE = 1_000

const quoted = (text: string): string => (text.length <= LONGEST_QUOTE ? text : `${text.slice(0, LONGEST_QUOTE)}…`)

/** The typed form of anything the SDK throws. Errors of this family pass unchanged. */
export function translateError(error: unknown, operation: string): Error {
  if (isWarmboxError(error)) return error
  if (!(error instanceof Error)) {
    return new E2BSandboxError({
      code: 'PLATFORM',
      message: `${operation} failed`,
      hint: hintByCode.PLATFORM,
      cause: error,
    })
  }
  const code = codeOf(error)
  if (code === 'ABORTED') return abortedError(operation, error)
  return new E2BSandboxError({
    code,
    message: `${operation} failed: ${quoted(error.message)}`,
    hint: hintByCode[code],
    cause: error,
    status: statusOf(error),
  })
}

/** The code under which an error of the SDK, or an already translated one, is reported. */
export const errorCode = (error: unknown): string | undefined => {
  if (isWarmboxError(error)) return error.code
  return error instanceof Error ? codeOf(error) : undefined
}
