import { isWarmboxError } from '@warmbox/identity'
import { ResolutionError } from './errors.ts'

/**
 * Calls a function that a spec was given. What it throws becomes a typed failure of the work it belongs to; errors of
 * this family are typed already, and those of the signal's end are the caller's own.
 * @throws ResolutionError `INVALID_SPEC` with the error as its cause
 */
export async function callGiven<T>(what: string, call: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  try {
    return await call()
  } catch (cause) {
    signal?.throwIfAborted()
    if (isWarmboxError(cause)) throw cause
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new ResolutionError({
      code: 'INVALID_SPEC',
      message: `${what} failed: ${why}`,
      hint: 'Correct the function; its error is the cause',
      cause,
    })
  }
}
