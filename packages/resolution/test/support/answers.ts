import { type BuildProgress, ResolutionError, type ResolutionErrorCode } from '@warmbox/resolution'
import { AuthenticationError, RateLimitError, SandboxError, ServiceBusyError } from 'e2b'

/** What an answer does to the start that gets it. */
export interface Answer {
  readonly name: string
  readonly give: () => unknown
  /**
   * `ends`: a refused key, or a create that says nothing about the ref; nothing may follow. `limits`: no build may
   * follow. `ambiguous`: a create of which only `adopt` can tell what came of it.
   */
  readonly means?: 'ends' | 'limits' | 'ambiguous'
}

const give = (name: string, value: unknown, means?: Answer['means']): Answer => ({
  name,
  give: () => value,
  ...(means === undefined ? {} : { means }),
})

const fail = (name: string, error: () => unknown, means?: Answer['means']): Answer => ({
  name,
  give: () => {
    throw error()
  },
  ...(means === undefined ? {} : { means }),
})

/** An answer of the platform's, as a TemplateApi reports it. */
const platform = (code: ResolutionErrorCode, means?: Answer['means']): Answer =>
  fail(code, () => new ResolutionError({ code, message: `answered with ${code}` }), means)

const created = (status: number, message = 'answered'): SandboxError => {
  const error = new SandboxError(`${status}: ${message}`)
  error.statusCode = status
  return error
}

const progress = (state: BuildProgress['state'], failure?: BuildProgress['failure']): BuildProgress => ({
  state,
  logs: [],
  ...(failure === undefined ? {} : { failure }),
})

/** Whose tags a list shows: a newest build of the exact ref, an earlier build, both, or neither. */
export type Tagged = 'none' | 'exact' | 'stale' | 'both'

/** Every class of answer to every question a start can ask. The first of each is the best there is. */
export const ANSWERS = {
  tags: [
    give('both', 'both'),
    give('exact', 'exact'),
    give('stale', 'stale'),
    give('none', 'none'),
    platform('PLATFORM'),
    platform('RATE_LIMITED', 'limits'),
    platform('AUTHENTICATION', 'ends'),
  ],
  status: [
    give('ready', 'ready'),
    give('missing', 'missing'),
    give('foreign', 'foreign'),
    platform('NETWORK'),
    platform('RATE_LIMITED', 'limits'),
    platform('AUTHENTICATION', 'ends'),
    platform('FORBIDDEN', 'ends'),
  ],
  requestBuild: [
    give('accepted', undefined),
    platform('CONFLICT'),
    platform('PLATFORM'),
    platform('FORBIDDEN'),
    platform('QUOTA_EXCEEDED', 'limits'),
    platform('AUTHENTICATION', 'ends'),
  ],
  startBuild: [
    give('started', undefined),
    platform('BAD_REQUEST'),
    platform('UPLOAD_FAILED'),
    platform('SERVICE_BUSY'),
  ],
  buildProgress: [
    give('ready', progress('ready')),
    give('building for ever', progress('building')),
    give('waiting for ever', progress('waiting')),
    give('failed in a step', progress('error', { message: 'exit 1', step: '3' })),
    give('failed', progress('error', { message: 'node lost' })),
    platform('NOT_FOUND'),
    platform('AUTHENTICATION', 'ends'),
  ],
  boot: [
    give('sandbox', 'sandbox'),
    fail('404', () => created(404)),
    fail('404 of a validator', () => created(404, 'validation error: no route'), 'ends'),
    fail('400', () => created(400), 'ends'),
    fail('403', () => created(403), 'ends'),
    fail('401', () => new AuthenticationError('no'), 'ends'),
    fail('429', () => new RateLimitError('no'), 'ends'),
    fail('503', () => new ServiceBusyError('no'), 'ends'),
    fail('500', () => created(500), 'ambiguous'),
    fail('no answer in time', () => new DOMException('late', 'TimeoutError'), 'ambiguous'),
    fail('no connection', () => new TypeError('fetch failed'), 'ambiguous'),
  ],
  adopt: [give('found', 'sandbox'), give('absent', undefined), platform('NETWORK')],
} satisfies Record<string, readonly Answer[]>

export type Question = keyof typeof ANSWERS
