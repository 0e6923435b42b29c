import type { Sandbox } from 'e2b'
import { classifyBootError, type Clock, lookUpAttempt, TemplateUnusableError } from '@warmbox/resolution'
import { abortable } from './abort.ts'
import { abortedError } from './errors.ts'
import { errorCode, translateError } from './sdk-errors.ts'

/** One create attempt, and the ways to discard what it made. */
export interface CreateAttempt {
  /** Sends the create, with an attempt id in the metadata. Never aborted: what it makes must be known. */
  create(): Promise<Sandbox>
  /** Id of the sandbox that carries the attempt id; undefined where there is none. */
  findCreated(signal: AbortSignal): Promise<string | undefined>
  kill(sandboxId: string): Promise<unknown>
  /** Given work that goes on after an abort: killing what arrives late. Never rejects. */
  later(work: Promise<void>): void
  /** Told what could not be done about a sandbox that may exist. */
  warn(message: string): void
}

/**
 * Sends one create from `ref`. Aborted, it rejects at once, and a sandbox that arrives later is killed.
 * @throws TemplateUnusableError where `ref` cannot be booted
 */
export async function createOnce(
  ref: string,
  attempt: CreateAttempt,
  signal: AbortSignal,
  clock: Clock,
): Promise<Sandbox> {
  if (signal.aborted) throw abortedError('Creating a sandbox', signal.reason)
  const pending = attempt.create()
  try {
    return await abortable(pending, signal)
  } catch (error) {
    if (signal.aborted) {
      attempt.later(discard(pending, attempt, clock))
      throw abortedError('Creating a sandbox', signal.reason)
    }
    if (classifyBootError(error) === 'unusable') throw new TemplateUnusableError(ref, { cause: error })
    throw translateError(error, 'Creating a sandbox')
  }
}

/** Nobody waits for this sandbox any more. */
async function discard(pending: Promise<Sandbox>, attempt: CreateAttempt, clock: Clock): Promise<void> {
  let sandbox: Sandbox
  try {
    sandbox = await pending
  } catch (error) {
    const failure = translateError(error, 'Creating a sandbox')
    if (classifyBootError(failure) !== 'ambiguous') return
    await killCreated(attempt, errorCode(failure) === 'PLATFORM' ? 'answered' : 'overdue', clock)
    return
  }
  await killReported(sandbox.sandboxId, attempt)
}

/** Kills what came of a create whose outcome nobody knows, where anything did. Never rejects. */
export async function killCreated(
  attempt: Pick<CreateAttempt, 'findCreated' | 'kill' | 'warn'>,
  how: 'answered' | 'overdue',
  clock: Clock,
): Promise<void> {
  try {
    const { signal } = new AbortController()
    const created = await lookUpAttempt((during) => attempt.findCreated(during), how, { clock, signal })
    if (created !== undefined) await killReported(created, attempt)
  } catch (error) {
    attempt.warn(`A create that was aborted could not be looked up, so a sandbox may be left: ${describe(error)}`)
  }
}

async function killReported(sandboxId: string, attempt: Pick<CreateAttempt, 'kill' | 'warn'>): Promise<void> {
  try {
    await attempt.kill(sandboxId)
  } catch (error) {
    attempt.warn(`Sandbox ${sandboxId} arrived after its start was aborted and could not be killed: ${describe(error)}`)
  }
}

const describe = (error: unknown): string => (error instanceof Error ? error.message : String(error))
