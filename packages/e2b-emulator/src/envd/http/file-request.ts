import { RuntimeError, type RuntimeErrorCode } from '../../runtime/port.ts'
import { SystemError } from '../../runtime/system-errors.ts'
import { resolvePath, UnsupportedPathError } from '../path.ts'
import { refusalOf, type Attempt, type RefusalKind } from '../refusals.ts'
import type { EnvdSession } from '../session.ts'
import { findUser, type SandboxUser } from '../user.ts'
import { fileRefusal } from './access.ts'
import { errorAnswer } from './answers.ts'
import { MalformedBodyError, NotAcceptableError, UnsupportedEncodingError } from './content-encoding.ts'

/** A request for `/files` that cannot be served, with what to answer. */
export class FileRequestError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.name = 'FileRequestError'
    this.status = status
  }
}

/** Who asks for a file: checks token or signature, then the user. */
export async function callerOf(request: Request, session: EnvdSession): Promise<SandboxUser> {
  const refused = fileRefusal(request, session.sandbox, session.clock)
  if (refused !== undefined) throw new FileRequestError(401, refused)
  const name = new URL(request.url).searchParams.get('username') ?? defaultUser(session)
  const user = await findUser(session.sandbox, name)
  if (user === undefined) throw unknownUser(name)
  return user
}

export const unknownUser = (name: string) =>
  new FileRequestError(401, `error looking up user '${name}': user: unknown user ${name}`)

/** Throws a 400 where this envd has no default. */
export function defaultUser(session: EnvdSession): string {
  if (!session.can('defaultUser')) throw new FileRequestError(400, 'no user specified')
  return session.sandbox.defaultUser
}

/** {@link resolvePath} for a file request. */
export function filePath(path: string, user: SandboxUser, session: EnvdSession): string {
  return resolvePath(path, user, session.sandbox)
}

/** Waits for the machine's work and words its refusal as {@link refusalOf} says. */
export async function attempted<T>(work: Promise<T>, attempt: Attempt): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof SystemError)) throw error
    const { kind, message } = refusalOf(error, attempt)
    throw new FileRequestError(statusForKind[kind], kind === 'full' ? 'not enough disk space available' : message)
  }
}

const statusForKind: Readonly<Record<RefusalKind, number>> = {
  missing: 404,
  circular: 500,
  full: 507,
  exhausted: 500,
  refused: 500,
}

/** Turns what went wrong into the answer the platform gives. */
export function failedFileAnswer(error: unknown): Response {
  if (error instanceof FileRequestError) return errorAnswer(error.status, error.message)
  if (badRequests.some((kind) => error instanceof kind)) return errorAnswer(400, messageOf(error))
  if (error instanceof NotAcceptableError) return errorAnswer(406, error.message)
  if (error instanceof RuntimeError) return errorAnswer(statusFor[error.code], error.message)
  return errorAnswer(500, messageOf(error))
}

const badRequests = [UnsupportedPathError, UnsupportedEncodingError, MalformedBodyError]

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))

const statusFor: Readonly<Record<RuntimeErrorCode, number>> = {
  'not-found': 404,
  'user-unknown': 401,
  'is-directory': 400,
  'not-directory': 500,
  'no-space': 507,
  'directory-missing': 500,
  'command-missing': 500,
  'not-scripted': 500,
  exists: 500,
  'port-closed': 500,
  unsupported: 501,
  failed: 500,
  gone: 502,
}
