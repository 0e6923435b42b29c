import { createHash, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../clock.ts'
import type { SandboxForEnvd } from '../sandbox.ts'

/** Routes that a secured sandbox answers without its token: `/files` checks a signature instead. */
const openRoutes: ReadonlySet<string> = new Set(['GET /health', 'GET /files', 'POST /files'])

/** Why the request may not pass, or undefined. */
export function refusal(request: Request, sandbox: SandboxForEnvd): string | undefined {
  if (sandbox.accessToken === undefined) return undefined
  if (openRoutes.has(`${request.method} ${new URL(request.url).pathname}`)) return undefined
  if (hasToken(request, sandbox.accessToken)) return undefined
  return 'unauthorized access, please provide a valid access token or method signing if supported'
}

/** Why a request for a file may not pass, or undefined: token in the header, or a signature in the URL. */
export function fileRefusal(request: Request, sandbox: SandboxForEnvd, clock: Clock): string | undefined {
  const { accessToken } = sandbox
  if (accessToken === undefined) return undefined
  if (request.headers.get('X-Access-Token')) {
    return hasToken(request, accessToken) ? undefined : 'access token present in header but does not match'
  }
  const { searchParams } = new URL(request.url)
  if (!searchParams.has('signature')) return 'missing signature query parameter'
  if (!isSignedFor(request, accessToken)) return 'invalid signature'
  const expiration = searchParams.get('signature_expiration')
  if (expiration !== null && Number(expiration) < Math.floor(clock.now() / 1000)) return 'signature is already expired'
  return undefined
}

/**
 * Whether the signature in the URL was made with this access token, for this path, user and operation. Signed URLs name
 * no sandbox: where all sandboxes share one address, this finds the one that is meant. Says nothing about expiry.
 */
export function isSignedFor(request: Request, accessToken: string): boolean {
  const { searchParams } = new URL(request.url)
  const expiration = searchParams.get('signature_expiration')
  const operation = request.method === 'POST' ? 'write' : 'read'
  const signed = [searchParams.get('path') ?? '', operation, searchParams.get('username') ?? '', accessToken]
  const digest = createHash('sha256')
    .update([...signed, ...(expiration === null ? [] : [expiration])].join(':'))
    .digest('base64')
    .replace(/=+$/, '')
  return equal(`v1_${digest}`, searchParams.get('signature') ?? '')
}

function hasToken(request: Request, accessToken: string): boolean {
  return equal(request.headers.get('X-Access-Token') ?? '', accessToken)
}

/** Compares without telling by its duration where two texts differ. */
function equal(left: string, right: string): boolean {
  const [a, b] = [left, right].map((text) => createHash('sha256').update(text).digest())
  return a !== undefined && b !== undefined && timingSafeEqual(a, b)
}
