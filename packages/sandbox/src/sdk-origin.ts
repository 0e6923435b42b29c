import { AuthenticationError, BuildError, SandboxError, ServiceBusyError } from 'e2b'

/** From which all errors of the SDK descend. */
const ROOTS = [SandboxError, AuthenticationError, BuildError, ServiceBusyError] as const
const ROOT_NAMES: ReadonlySet<string> = new Set(ROOTS.map(({ name }) => name))

/**
 * Whether the SDK reports a failure by this error, in a function that may throw errors of its own too. The exit code of
 * a command is none. A subclass may bring an SDK with its own copy of the classes, which are then known by name.
 */
export function isSdkFailure(error: unknown): boolean {
  if (!(error instanceof Error) || error.name === 'CommandExitError') return false
  // The SDK lets pass what `fetch` throws, which tells the reason as its cause, and `AbortSignal.timeout`.
  if (error instanceof DOMException) return true
  if (error instanceof TypeError) return error.cause !== undefined
  return ROOTS.some((root) => error instanceof root) || classNames(error).some((name) => ROOT_NAMES.has(name))
}

function classNames(error: Error): readonly string[] {
  const names: string[] = []
  for (let link: unknown = Object.getPrototypeOf(error); link instanceof Error; link = Object.getPrototypeOf(link)) {
    names.push(link.constructor.name)
  }
  return names
}
