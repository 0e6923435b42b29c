import { errorCode } from './sdk-errors.ts'

/** What recovery needs of the sandbox it works for. */
export interface RecoveryPort {
  /** Starts the sandbox where it does not run. @returns its E2B id */
  ready(): Promise<string>
  /** Typed, and asked of E2B where it could mean that the sandbox is gone. */
  explain(error: unknown, sandboxId: string): Promise<Error>
  /** Whether a start is under way. It may be waiting for this very call, which its hook made. */
  isStarting(): boolean
  /** Lets go of a sandbox that is gone or paused, unless somebody else has done so by now. */
  lost(sandboxId: string): Promise<void>
}

/**
 * Runs `fn` with the sandbox started, and once more where the sandbox was not there when it began its work.
 * @param repeatable whether `fn` may run again although it may have done its work
 */
export async function withRecovery<T>(fn: () => Promise<T>, repeatable: boolean, port: RecoveryPort): Promise<T> {
  const sandboxId = await port.ready()
  try {
    return await fn()
  } catch (error) {
    const failure = await port.explain(error, sandboxId)
    const mayRepeat = repeatable || errorCode(error) === 'SANDBOX_GONE'
    const isConfirmed = errorCode(failure) === 'SANDBOX_GONE' && !port.isStarting()
    if (!mayRepeat || !isConfirmed) throw failure
  }
  await port.lost(sandboxId)
  const nextId = await port.ready()
  try {
    return await fn()
  } catch (error) {
    throw await port.explain(error, nextId)
  }
}
