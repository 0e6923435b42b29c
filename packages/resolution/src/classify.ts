import { isWarmboxError } from '@warmbox/identity'

/**
 * What a failed boot says about the ref. `unusable`: it cannot be booted, and no sandbox came of trying. `propagate`:
 * everything else, where a sandbox may exist or another try would fail alike.
 *
 * On create, E2B answers 404 only where the template or tag did not resolve to a ready build, and the SDK reports it as
 * its plain `SandboxError` with the status. Its subclasses, which have names of their own, stand for other answers: a
 * missing sandbox is no missing template. The name is compared, not the class, so that a second copy of the SDK does not
 * matter.
 */
export function classifyBootError(error: unknown): 'unusable' | 'propagate' {
  if (isWarmboxError(error)) return error.code === 'TEMPLATE_UNUSABLE' ? 'unusable' : 'propagate'
  if (!(error instanceof Error) || error.name !== 'SandboxError') return 'propagate'
  if (!('statusCode' in error) || error.statusCode !== 404) return 'propagate'
  // The one false friend: a self-hosted API that lacks the SDK's create route refuses it with 404 in its request
  // validator, before any template is looked at. Body and status are the same; only this prefix, fixed in the
  // platform's source, tells them apart.
  return error.message.startsWith('404: validation error:') ? 'propagate' : 'unusable'
}
