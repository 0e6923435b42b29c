import { isWarmboxError } from '@warmbox/identity'

/**
 * What a failed boot says. `unusable`: the ref cannot be booted, and no sandbox came of trying. `ambiguous`: a sandbox
 * may have come of it all the same, so it is looked for before anything else happens. `propagate`: none came of it, and
 * another ref would fail alike.
 */
export type BootFailure = 'unusable' | 'ambiguous' | 'propagate'

export type BootDiagnosis =
  | { readonly kind: 'unusable' }
  | { readonly kind: 'propagate' }
  | {
      readonly kind: 'ambiguous'
      /** `answered`: the platform failed. `overdue`: it never answered. `cut`: the connection to it was lost. */
      readonly how: 'answered' | 'overdue' | 'cut'
    }

const UNUSABLE: BootDiagnosis = { kind: 'unusable' }
const PROPAGATE: BootDiagnosis = { kind: 'propagate' }
const ANSWERED: BootDiagnosis = { kind: 'ambiguous', how: 'answered' }
const OVERDUE: BootDiagnosis = { kind: 'ambiguous', how: 'overdue' }
const CUT: BootDiagnosis = { kind: 'ambiguous', how: 'cut' }

/** Codes of this package and of providers, which share their meaning. */
const byCode: Readonly<Record<string, BootDiagnosis>> = {
  TEMPLATE_UNUSABLE: UNUSABLE,
  PLATFORM: ANSWERED,
  REQUEST_TIMEOUT: OVERDUE,
  NETWORK: CUT,
  CONNECTION_LOST: CUT,
}

const statusOf = (error: Error): number | undefined =>
  'statusCode' in error && typeof error.statusCode === 'number' ? error.statusCode : undefined

/**
 * On create, E2B answers 404 only where the template or tag did not resolve to a ready build, and the SDK reports it as
 * its plain `SandboxError` with the status. Its subclasses, which have names of their own, stand for other answers: a
 * missing sandbox is no missing template, and 503, a refused key and a limit changed nothing. The name is compared, not
 * the class, so that a second copy of the SDK does not matter.
 */
export function diagnoseBootError(error: unknown): BootDiagnosis {
  if (isWarmboxError(error)) return byCode[error.code] ?? PROPAGATE
  // The runtime's own: `AbortSignal.timeout`, and `fetch` without an answer. The SDK lets both pass.
  if (error instanceof DOMException) return error.name === 'TimeoutError' ? OVERDUE : PROPAGATE
  if (error instanceof TypeError) return CUT
  if (!(error instanceof Error)) return PROPAGATE
  // The SDK's name for a stream that broke or met its deadline.
  if (error.name === 'TimeoutError') return OVERDUE
  if (error.name !== 'SandboxError') return PROPAGATE
  const status = statusOf(error)
  if (status === undefined || status >= 500) return ANSWERED
  if (status !== 404) return PROPAGATE
  // The one false friend: a self-hosted API that lacks the SDK's create route refuses it with 404 in its request
  // validator, before any template is looked at. Body and status are the same; only this prefix, fixed in the
  // platform's source, tells them apart.
  return error.message.startsWith('404: validation error:') ? PROPAGATE : UNUSABLE
}

/** What a failed boot says about the ref, and about what may have come of it. Decided by class and status alone. */
export const classifyBootError = (error: unknown): BootFailure => diagnoseBootError(error).kind
