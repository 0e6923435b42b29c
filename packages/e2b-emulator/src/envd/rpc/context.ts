import { Code, ConnectError, createContextKey, type HandlerContext } from '@connectrpc/connect'
import { resolvePath } from '../path.ts'
import type { EnvdSession } from '../session.ts'
import { findUser, userNameFromHeader, type SandboxUser } from '../user.ts'
import { toRpcError, translated } from './errors.ts'

/** Where the router leaves the session for {@link sessionOf}. */
export const sessionKey = createContextKey<EnvdSession | undefined>(undefined, { description: 'the sandbox session' })

const userKey = createContextKey<SandboxUser | undefined>(undefined, { description: 'the user the caller named' })

/** Quiet seconds before a keepalive where the caller asks for no interval of its own. */
const DEFAULT_KEEPALIVE_SECONDS = 90

/** Runs before a message is read: a user that does not exist ends every call, also those that need none. */
export async function authenticate(context: HandlerContext): Promise<void> {
  const name = userNameFromHeader(context.requestHeader.get('Authorization'))
  if (name === undefined) return
  const user = await translated(findUser(sessionOf(context).sandbox, name))
  if (user === undefined) throw new ConnectError(`invalid username: '${name}'`, Code.Unauthenticated)
  context.values.set(userKey, user)
}

/** The session the request was routed to. */
export function sessionOf(context: HandlerContext): EnvdSession {
  const session = context.values.get(sessionKey)
  if (session === undefined) throw new ConnectError('the call was routed to no sandbox', Code.Internal)
  return session
}

/** The user the caller named, or the sandbox's default. */
export async function userOf(context: HandlerContext): Promise<SandboxUser> {
  const named = context.values.get(userKey)
  if (named !== undefined) return named
  const session = sessionOf(context)
  if (!session.can('defaultUser')) throw new ConnectError('no user specified', Code.Unauthenticated)
  const { sandbox } = session
  const user = await translated(findUser(sandbox, sandbox.defaultUser))
  if (user === undefined) throw new ConnectError(`invalid default user: '${sandbox.defaultUser}'`, Code.Unauthenticated)
  return user
}

/** {@link resolvePath} for the caller; what cannot be expanded is an invalid argument. */
export function pathOf(path: string, user: SandboxUser, context: HandlerContext): string {
  try {
    return resolvePath(path, user, sessionOf(context).sandbox)
  } catch (error) {
    throw toRpcError(error)
  }
}

/** How a stream of this call is followed: its abort, its keepalive, the clock of its session. */
export function followingOf(context: HandlerContext) {
  const header = context.requestHeader.get('Keepalive-Ping-Interval')
  const seconds = header !== null && /^[1-9]\d{0,6}$/.test(header) ? Number(header) : DEFAULT_KEEPALIVE_SECONDS
  return { signal: context.signal, quietMs: seconds * 1000, clock: sessionOf(context).clock }
}
