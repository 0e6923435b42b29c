import type { Sandbox } from 'e2b'
import { E2BSandboxError } from './errors.ts'
import { errorCode } from './sdk-errors.ts'
import { answers, type SandboxApi } from './sdk.ts'

/** What E2B says of a sandbox; `unknown` where it could not be asked. */
export type SandboxCondition = 'running' | 'paused' | 'gone' | 'unknown'

export async function conditionOf(sandboxes: SandboxApi, sandboxId: string): Promise<SandboxCondition> {
  try {
    return (await sandboxes.info(sandboxId)).state
  } catch (error) {
    // Not knowing is an answer here: whoever asks then reports the failure it already has.
    return errorCode(error) === 'SANDBOX_GONE' ? 'gone' : 'unknown'
  }
}

export interface Diagnosis {
  /** Typed, but for what is none of the SDK's. */
  readonly failure: unknown
  /** Why the sandbox could not be reached, by E2B's own word; undefined where that is not the reason. */
  readonly condition?: Extract<SandboxCondition, 'paused' | 'gone'>
}

/**
 * Whether a failed request means that the sandbox is gone. The SDK reports a throttled request and a broken stream in
 * ways that look like a dead sandbox, so E2B is asked.
 * @param failure a translated error
 */
export async function diagnoseFailure(
  sandboxes: SandboxApi,
  failure: Error,
  operation: string,
  sandbox: Sandbox,
): Promise<Diagnosis> {
  const { sandboxId } = sandbox
  if (!wasAnswered(failure) && !(await answers(sandbox))) {
    return { failure: networkFailure(failure, operation, sandboxId) }
  }
  const code = errorCode(failure)
  if (code !== 'SANDBOX_GONE' && code !== 'CONNECTION_LOST') return { failure }
  const condition = await conditionOf(sandboxes, sandboxId)
  switch (condition) {
    // Unconfirmed is not gone: whoever would replace the sandbox could make a second one.
    case 'unknown':
    case 'running':
      return {
        failure: code === 'CONNECTION_LOST' ? failure : unreachableError(failure, operation, sandboxId, condition),
      }
    case 'paused':
    case 'gone':
      return { failure: goneError(failure, operation, sandboxId, condition), condition }
    default:
      return condition satisfies never
  }
}

/** The SDK tells a failed connection to the sandbox from a failure within it by nothing but its text. */
const wasAnswered = (failure: Error): boolean =>
  !(failure instanceof E2BSandboxError) || failure.code !== 'PLATFORM' || failure.status !== undefined

const goneError = (cause: Error, operation: string, sandboxId: string, condition: 'paused' | 'gone'): E2BSandboxError =>
  new E2BSandboxError({
    code: 'SANDBOX_GONE',
    message: `${operation} failed: sandbox ${sandboxId} ${condition === 'paused' ? 'is paused' : 'no longer exists'}`,
    hint:
      condition === 'paused'
        ? 'Start it again, which resumes it'
        : 'Start again to get another one; the files of this one are lost',
    cause,
  })

const unreachableError = (
  cause: Error,
  operation: string,
  sandboxId: string,
  condition: 'running' | 'unknown',
): E2BSandboxError => {
  const known = condition === 'running' ? 'it runs' : 'E2B could not be asked whether it runs'
  return new E2BSandboxError({
    code: 'SANDBOX_UNREACHABLE',
    message: `${operation} failed: sandbox ${sandboxId} did not take the request, and ${known}`,
    hint: 'Retry after a short wait',
    cause,
  })
}

/** The error of a request to the sandbox that got no answer. */
const networkFailure = (cause: Error, operation: string, sandboxId: string): E2BSandboxError =>
  new E2BSandboxError({
    code: 'NETWORK',
    message: `${operation} failed: no connection to sandbox ${sandboxId}`,
    hint: 'Check the network, the proxy, domain and sandboxUrl',
    cause,
  })

/** The answer, or undefined where the sandbox no longer exists. */
export async function unlessGone<T>(request: () => Promise<T>): Promise<T | undefined> {
  try {
    return await request()
  } catch (error) {
    if (errorCode(error) === 'SANDBOX_GONE') return undefined
    throw error
  }
}
