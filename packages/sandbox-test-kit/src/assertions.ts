import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import type { CommandResult, SandboxStartResult, WorkspaceSandbox } from '@mastra/core/workspace'

type Able<K extends keyof WorkspaceSandbox> = WorkspaceSandbox & {
  readonly [Name in K]-?: NonNullable<WorkspaceSandbox[Name]>
}

/** The sandbox with an ability that the capabilities of its provider say is there. */
export function able<K extends keyof WorkspaceSandbox>(sandbox: WorkspaceSandbox, name: K): Able<K> {
  assert.ok(isAble(sandbox, name), `The sandbox has no '${name}'`)
  return sandbox
}

const isAble = <K extends keyof WorkspaceSandbox>(sandbox: WorkspaceSandbox, name: K): sandbox is Able<K> =>
  sandbox[name] !== undefined

/** Runs a line in the shell of the sandbox. */
export const run = (sandbox: WorkspaceSandbox, line: string): Promise<CommandResult> =>
  able(sandbox, 'executeCommand').executeCommand(line)

/** Starts it as a workspace does, with the base class's care for concurrent calls where it has that. */
export async function start(sandbox: WorkspaceSandbox): Promise<SandboxStartResult | void> {
  return able(sandbox, 'start').start()
}

/** Asks until the answer is as wanted; fails with the last answer after ten seconds. */
export async function eventually<T>(ask: () => Promise<T> | T, isWanted: (answer: T) => boolean): Promise<T> {
  const deadline = Date.now() + 10_000
  for (;;) {
    const answer = await ask()
    if (isWanted(answer)) return answer
    assert.ok(Date.now() < deadline, `It stays ${JSON.stringify(answer)}`)
    await delay(25)
  }
}
