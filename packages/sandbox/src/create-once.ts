import type { Sandbox, SandboxInfo } from 'e2b'
import { classifyBootError, type Clock, TemplateUnusableError } from '@warmbox/resolution'
import { abortable } from './abort.ts'
import { abortedError } from './errors.ts'
import { errorCode, isAmbiguous, translateError } from './sdk-errors.ts'

/**
 * When to look for the sandbox of a create that failed ambiguously, in milliseconds after the one before. E2B works
 * on a create for up to 70 s and the SDK waits 60 s, so after a silent failure one may appear up to ten seconds later.
 */
const LOOKUP_DELAYS_AFTER_SILENCE = [0, 2_000, 4_000, 8_000]
/** E2B has answered, so what it made is there, or is just being recorded. */
const LOOKUP_DELAYS_AFTER_ANSWER = [0, 1_000]

/** One create attempt, and the ways to find or discard what it made. */
export interface CreateAttempt {
  /** Sends the create, with an attempt id in the metadata. Never aborted: what it makes must be known. */
  create(): Promise<Sandbox>
  /** The sandboxes that carry the attempt id. */
  findCreated(signal: AbortSignal): Promise<readonly SandboxInfo[]>
  connect(sandboxId: string, signal: AbortSignal): Promise<Sandbox>
  kill(sandboxId: string): Promise<unknown>
  /** Given work that goes on after an abort: killing what arrives late. Never rejects. */
  later(work: Promise<void>): void
  /** Told what could not be done about a sandbox that may exist. */
  warn(message: string): void
}

export interface Created {
  readonly sandbox: Sandbox
  /** True where create failed and the sandbox it had made all the same was found. */
  readonly adopted: boolean
}

/**
 * Creates exactly one sandbox from `ref`, or none. Aborted, it rejects at once, and a sandbox that arrives later is
 * killed. Create is not idempotent, so it is never repeated: after a 5xx, a timeout or a lost connection the sandbox is
 * looked up by its attempt id and taken over.
 * @throws TemplateUnusableError where `ref` cannot be booted
 */
export async function createOnce(
  ref: string,
  attempt: CreateAttempt,
  signal: AbortSignal,
  clock: Clock,
): Promise<Created> {
  if (signal.aborted) throw abortedError('Creating a sandbox', signal.reason)
  const pending = attempt.create()
  try {
    return { sandbox: await abortable(pending, signal), adopted: false }
  } catch (error) {
    if (signal.aborted) {
      attempt.later(discard(pending, attempt, clock))
      throw abortedError('Creating a sandbox', signal.reason)
    }
    if (classifyBootError(error) === 'unusable') throw new TemplateUnusableError(ref, { cause: error })
    const sandbox = isAmbiguous(error) ? await adopt(error, attempt, signal, clock) : undefined
    if (sandbox === undefined) throw translateError(error, 'Creating a sandbox')
    return { sandbox, adopted: true }
  }
}

async function adopt(
  failure: unknown,
  attempt: CreateAttempt,
  signal: AbortSignal,
  clock: Clock,
): Promise<Sandbox | undefined> {
  try {
    const created = await findCreated(failure, attempt, signal, clock)
    return created === undefined ? undefined : await attempt.connect(created, signal)
  } catch (error) {
    if (signal.aborted) {
      attempt.later(killCreated(failure, attempt, clock))
      throw abortedError('Creating a sandbox', signal.reason)
    }
    // The create's own failure says more than that of the search after it.
    attempt.warn(`A create failed and could not be looked up afterwards: ${describe(error)}`)
    return undefined
  }
}

async function findCreated(
  failure: unknown,
  attempt: CreateAttempt,
  signal: AbortSignal,
  clock: Clock,
): Promise<string | undefined> {
  const answered = errorCode(failure) === 'PLATFORM'
  for (const delayMs of answered ? LOOKUP_DELAYS_AFTER_ANSWER : LOOKUP_DELAYS_AFTER_SILENCE) {
    if (delayMs > 0) await clock.sleep(delayMs, signal)
    const [created] = await attempt.findCreated(signal)
    if (created !== undefined) return created.sandboxId
  }
  return undefined
}

/** Nobody waits for this sandbox any more. */
async function discard(pending: Promise<Sandbox>, attempt: CreateAttempt, clock: Clock): Promise<void> {
  let sandbox: Sandbox
  try {
    sandbox = await pending
  } catch (error) {
    if (isAmbiguous(error)) await killCreated(error, attempt, clock)
    return
  }
  await killReported(sandbox.sandboxId, attempt)
}

async function killCreated(failure: unknown, attempt: CreateAttempt, clock: Clock): Promise<void> {
  try {
    const created = await findCreated(failure, attempt, new AbortController().signal, clock)
    if (created !== undefined) await killReported(created, attempt)
  } catch (error) {
    attempt.warn(`A create that was aborted could not be looked up, so a sandbox may be left: ${describe(error)}`)
  }
}

async function killReported(sandboxId: string, attempt: CreateAttempt): Promise<void> {
  try {
    await attempt.kill(sandboxId)
  } catch (error) {
    attempt.warn(`Sandbox ${sandboxId} arrived after its start was aborted and could not be killed: ${describe(error)}`)
  }
}

const describe = (error: unknown): string => (error instanceof Error ? error.message : String(error))
