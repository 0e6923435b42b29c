import { Code, ConnectError } from '@connectrpc/connect'
import { RuntimeError, type RuntimeErrorCode } from '../../runtime/port.ts'
import { SystemError } from '../../runtime/system-errors.ts'
import { UnsupportedPathError } from '../path.ts'
import { refusalOf, type Attempt, type RefusalKind } from '../refusals.ts'

/** What a client is told when the machine refuses by itself; the words stay those of the machine. */
const codeFor: Readonly<Record<RuntimeErrorCode, Code>> = {
  'not-found': Code.NotFound,
  exists: Code.AlreadyExists,
  'directory-missing': Code.InvalidArgument,
  'command-missing': Code.InvalidArgument,
  'is-directory': Code.InvalidArgument,
  'not-directory': Code.InvalidArgument,
  'user-unknown': Code.Unauthenticated,
  'not-scripted': Code.Unimplemented,
  unsupported: Code.Unimplemented,
  'no-space': Code.Internal,
  'port-closed': Code.Internal,
  failed: Code.Internal,
  gone: Code.Unavailable,
}

/** The same for what the system of the machine refuses, in the words of {@link refusalOf}. */
const codeForKind: Readonly<Record<RefusalKind, Code>> = {
  missing: Code.NotFound,
  circular: Code.FailedPrecondition,
  full: Code.Internal,
  exhausted: Code.Internal,
  refused: Code.Internal,
}

/** What a refusal means to one call, where that differs from what it means to others. */
export interface Exceptions {
  readonly codes?: Partial<Record<RuntimeErrorCode, Code>>
  readonly kinds?: Partial<Record<RefusalKind, Code>>
}

/** The error a remote call ends with, whose machine refused the attempt. */
export function toRpcError(
  error: unknown,
  attempt?: Attempt,
  { codes = {}, kinds = {} }: Exceptions = {},
): ConnectError {
  if (error instanceof SystemError && attempt !== undefined) {
    const { kind, message } = refusalOf(error, attempt)
    return new ConnectError(message, kinds[kind] ?? codeForKind[kind], undefined, undefined, error)
  }
  if (error instanceof RuntimeError) {
    return new ConnectError(error.message, codes[error.code] ?? codeFor[error.code], undefined, undefined, error)
  }
  if (error instanceof UnsupportedPathError) {
    return new ConnectError(error.message, Code.InvalidArgument, undefined, undefined, error)
  }
  return ConnectError.from(error, Code.Internal)
}

/** Waits for `work` and answers its rejection as {@link toRpcError} says. */
export async function translated<T>(work: Promise<T>, attempt?: Attempt, exceptions?: Exceptions): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw toRpcError(error, attempt, exceptions)
  }
}
