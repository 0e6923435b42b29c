import { isWarmboxError } from '@warmbox/resolution'
import type { Diagnosis } from './diagnose.ts'
import { errorCode } from './sdk-errors.ts'

/**
 * What recovery needs of the sandbox it works for.
 * @typeParam Attachment one stay at a running sandbox: resumed, it is another one
 */
export interface RecoveryPort<Attachment> {
  /** Starts the sandbox where it does not run. */
  ready(): Promise<Attachment>
  /** False once it was let go of, whether or not another one has come in its place. */
  isCurrent(attachment: Attachment): boolean
  diagnose(error: unknown, attachment: Attachment): Promise<Diagnosis>
  /** Whether a start is under way. With an attachment made it may be waiting for this very call, which its hook made. */
  isStarting(): boolean
  /** Lets go of a sandbox that is gone or paused. */
  lost(attachment: Attachment, condition: NonNullable<Diagnosis['condition']>): void
}

/**
 * Runs `fn` with the sandbox started, and once more where the sandbox was not there when it began its work. The first
 * to find it so lets go of it; everybody else who was sent to it shares the start that follows.
 * @param repeatable whether `fn` may run again although it may have done its work
 */
export async function withRecovery<T, Attachment>(
  fn: () => Promise<T>,
  repeatable: boolean,
  port: RecoveryPort<Attachment>,
): Promise<T> {
  const first = await attached(port)
  try {
    return await fn()
  } catch (error) {
    if (!mayRepeat(error, repeatable)) throw (await port.diagnose(error, first)).failure
    await letGo(error, first, port)
  }
  const second = await attached(port)
  try {
    return await fn()
  } catch (error) {
    throw (await port.diagnose(error, second)).failure
  }
}

/** What was waited for may have been let go of by the time the wait is over. */
async function attached<Attachment>(port: RecoveryPort<Attachment>): Promise<Attachment> {
  let attachment = await port.ready()
  while (!port.isCurrent(attachment)) attachment = await port.ready()
  return attachment
}

/**
 * Only the SDK's own error says that the request was not taken. A typed one may come from a call within `fn`, which had
 * begun.
 */
function mayRepeat(error: unknown, repeatable: boolean): boolean {
  const code = errorCode(error)
  if (repeatable) return code === 'SANDBOX_GONE' || code === 'CONNECTION_LOST'
  return code === 'SANDBOX_GONE' && !isWarmboxError(error)
}

/** Resolves once `attachment` is not what the next attempt is sent to; rejects where there is no reason for another one. */
async function letGo<Attachment>(
  error: unknown,
  attachment: Attachment,
  port: RecoveryPort<Attachment>,
): Promise<void> {
  if (!port.isCurrent(attachment)) return
  const { failure, condition } = await port.diagnose(error, attachment)
  // Somebody else was quicker, and E2B has told of what came in its place.
  if (!port.isCurrent(attachment)) return
  if (condition === undefined || port.isStarting()) throw failure
  port.lost(attachment, condition)
}
