import { Code, ConnectError } from '@connectrpc/connect'
import { RuntimeError, type RuntimeErrorCode } from '../../runtime/port.ts'
import { UnsupportedPathError } from '../path.ts'

/** What a client is told when the machine refuses; the words stay those of the machine. */
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

/** The error a remote call ends with. `codes` overrides what a refusal of the machine means to this call. */
export function toRpcError(error: unknown, codes: Partial<Record<RuntimeErrorCode, Code>> = {}): ConnectError {
  if (error instanceof RuntimeError) {
    return new ConnectError(error.message, codes[error.code] ?? codeFor[error.code], undefined, undefined, error)
  }
  if (error instanceof UnsupportedPathError) {
    return new ConnectError(error.message, Code.InvalidArgument, undefined, undefined, error)
  }
  return ConnectError.from(error, Code.Internal)
}

/** Waits for `work` and answers its rejection as {@link toRpcError} says. */
export async function translated<T>(work: Promise<T>, codes?: Partial<Record<RuntimeErrorCode, Code>>): Promise<T> {
  try {
    return await work
  } catch (error) {
    throw toRpcError(error, codes)
  }
}
