import type { SandboxTarget } from './target.ts'

/** The header that traffic to the ports of a sandbox without public traffic carries. */
export const TRAFFIC_TOKEN_HEADER = 'e2b-traffic-access-token'

/** What the platform's proxy answers in place of a sandbox, in its own shape. Browsers get the same here, not a page. */
const refusal = (status: number, { sandboxId }: SandboxTarget, message: string, more: object = {}) =>
  Response.json({ sandboxId, message, ...more, code: status }, { status })

export const portClosed = (target: SandboxTarget): Response =>
  refusal(502, target, 'The sandbox is running but port is not open', { port: target.port })

export const stillTransitioning = (target: SandboxTarget): Response =>
  refusal(409, target, 'The sandbox is still transitioning. Try again in a moment.')

export const resumeDenied = (target: SandboxTarget): Response =>
  refusal(
    403,
    target,
    "This sandbox can't be resumed with the credentials provided. Check your access token and try again.",
  )

export const limitReached = (target: SandboxTarget, message: string): Response => refusal(429, target, message)

export const tokenMissing = (target: SandboxTarget): Response =>
  refusal(
    403,
    target,
    `Sandbox is secured with traffic access token. Token header '${TRAFFIC_TOKEN_HEADER}' is missing`,
  )

export const tokenInvalid = (target: SandboxTarget): Response =>
  refusal(
    403,
    target,
    `Sandbox is secured with traffic access token. Provided token in header '${TRAFFIC_TOKEN_HEADER}' is invalid`,
  )

export const invalidPort = (): Response => new Response('Invalid sandbox port\n', { status: 400 })
