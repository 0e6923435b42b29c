import type { ResolutionErrorCode } from './errors.ts'

const ACCOUNT: ReadonlySet<ResolutionErrorCode> = new Set(['MISSING_API_KEY', 'AUTHENTICATION', 'FORBIDDEN'])
const PASSING: ReadonlySet<ResolutionErrorCode> = new Set([
  'PLATFORM',
  'NETWORK',
  'REQUEST_TIMEOUT',
  'SERVICE_BUSY',
  'RATE_LIMITED',
  'QUOTA_EXCEEDED',
])

/** Means the account, so every other template would meet the same answer: nothing lower is tried. */
export const isAccountFailure = (code: ResolutionErrorCode): boolean => ACCOUNT.has(code)

/** Says nothing about what was asked, only about this one asking. */
export const isPassing = (code: ResolutionErrorCode): boolean => PASSING.has(code)

const LIMITS: ReadonlySet<ResolutionErrorCode> = new Set(['RATE_LIMITED', 'QUOTA_EXCEEDED'])

/** Passes, and is no limit that asking again would only strain. */
export const isWorthAsking = (code: ResolutionErrorCode): boolean => isPassing(code) && !LIMITS.has(code)
