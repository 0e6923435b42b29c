import type { Refusal } from '../refusal.ts'
import type { Head } from './head.ts'

export const notARepository: Refusal = Object.freeze({
  status: 'refused',
  code: 'NOT_A_REPOSITORY',
  reason: 'the host answered something that is no repository',
})

/**
 * What a status other than success means for a session. Everything the host says about this request is a refusal;
 * what it says about itself (too busy, broken, a proxy in between) leaves the head unknown.
 */
export const outcomeOfStatus = (status: number): Extract<Head, { status: 'refused' | 'unreachable' }> => {
  if (status === 401) return { status: 'refused', code: 'UNAUTHORIZED', reason: 'the host answered 401' }
  if (status === 404 || status === 410 || status === 451) {
    return { status: 'refused', code: 'NOT_FOUND', reason: `the host answered ${status}` }
  }
  if (status >= 300 && status < 400) {
    return {
      status: 'refused',
      code: 'REDIRECTED',
      reason: `the host answered ${status}, a redirect that is not followed`,
    }
  }
  if (status === 407 || status === 408 || status === 425 || status === 429 || status >= 500) {
    return { status: 'unreachable', reason: `the host answered ${status}` }
  }
  if (status >= 400) return { status: 'refused', code: 'FORBIDDEN', reason: `the host answered ${status}` }
  return notARepository
}
