import { isWarmboxError } from '@warmbox/identity'
import { AuthenticationError, FileUploadError, RateLimitError, ServiceBusyError } from 'e2b'
import { isResolutionError, ResolutionError, type ResolutionErrorCode } from './errors.ts'

const HINTS: Partial<Record<ResolutionErrorCode, string>> = {
  AUTHENTICATION: 'Check the API key: pass apiKey or set E2B_API_KEY',
  FORBIDDEN: 'Check that the account is in good standing and owns this template',
  QUOTA_EXCEEDED: 'Wait for running builds to end or raise the limit of the plan',
}

function codeOfStatus(status: number, retryAfter: string | null): ResolutionErrorCode {
  switch (status) {
    case 400:
      return 'BAD_REQUEST'
    case 401:
      return 'AUTHENTICATION'
    case 403:
      return 'FORBIDDEN'
    case 404:
      return 'NOT_FOUND'
    case 409:
      return 'CONFLICT'
    case 429:
      // The rate limiter names a delay, a limit of the plan does not.
      return retryAfter === null ? 'QUOTA_EXCEEDED' : 'RATE_LIMITED'
    case 503:
      return 'SERVICE_BUSY'
    default:
      return 'PLATFORM'
  }
}

const messageOfBody = (body: unknown): string | undefined =>
  typeof body === 'object' && body !== null && 'message' in body && typeof body.message === 'string'
    ? body.message
    : undefined

/** The error for an answer that is no success; decided by its status alone, the body only lends words to the message. */
export function errorOfResponse(operation: string, response: Response, body: unknown): ResolutionError {
  const code = codeOfStatus(response.status, response.headers.get('Retry-After'))
  const detail = messageOfBody(body)
  return new ResolutionError({
    code,
    message: `E2B answered ${response.status} when asked to ${operation}${detail === undefined ? '' : `: ${detail}`}`,
    hint: HINTS[code],
    status: response.status,
  })
}

/** The error for a request that got no usable answer. A caller that aborted gets its own reason instead. */
export function errorOfFailure(operation: string, cause: unknown, isOverdue: boolean): ResolutionError {
  if (cause instanceof ResolutionError) return cause
  if (isOverdue) {
    return new ResolutionError({
      code: 'REQUEST_TIMEOUT',
      message: `E2B did not answer in time when asked to ${operation}`,
      hint: 'Raise requestTimeoutMs if the connection is slow',
      cause,
    })
  }
  if (cause instanceof SyntaxError) {
    return new ResolutionError({
      code: 'PLATFORM',
      message: `E2B answered something that is not JSON when asked to ${operation}`,
      hint: 'Check apiUrl and domain',
      cause,
    })
  }
  return new ResolutionError({
    code: 'NETWORK',
    message: `E2B could not be reached to ${operation}`,
    hint: 'Check the network, the proxy and apiUrl',
    cause,
  })
}

/** What stands in place of a step's number where a builder could not make the files it copies: E2B was not asked yet. */
const FILES_STEP = 'files'

/** Did the build end on this machine, before there was one at E2B? */
export const isOfFiles = ({ step }: ResolutionError): boolean => step === FILES_STEP

/**
 * The error for a rejected build call of the SDK's own. Its `BuildError` carries no status, so everything without a
 * class of its own counts as the platform's; a 429 counts as a quota, which is the answer that starts nothing else.
 */
export function errorOfSdkBuild(operation: string, cause: unknown): ResolutionError {
  if (isResolutionError(cause)) return cause
  if (isWarmboxError(cause)) {
    // The builder's own: none of the SDK's errors are of this family.
    const { message, hint } = cause
    return new ResolutionError({ code: 'BUILD_STEP_FAILED', message, hint, cause, step: FILES_STEP })
  }
  if (cause instanceof AuthenticationError) {
    return sdkError('AUTHENTICATION', `E2B refused the API key when asked to ${operation}`, 401, cause)
  }
  if (cause instanceof RateLimitError) {
    return sdkError('QUOTA_EXCEEDED', `E2B answered 429 when asked to ${operation}`, 429, cause)
  }
  if (cause instanceof ServiceBusyError) {
    return sdkError('SERVICE_BUSY', `E2B answered 503 when asked to ${operation}`, 503, cause)
  }
  if (cause instanceof FileUploadError) {
    return sdkError('UPLOAD_FAILED', `The files of a COPY step could not be uploaded to ${operation}`, undefined, cause)
  }
  return sdkError('PLATFORM', `E2B could not ${operation}`, undefined, cause)
}

const sdkError = (code: ResolutionErrorCode, message: string, status: number | undefined, cause: unknown) =>
  new ResolutionError({ code, message, hint: HINTS[code], status, cause })
