import { randomUUID } from 'node:crypto'
import { callLifecycle, type WorkspaceSandbox } from '@mastra/core/workspace'
import type { Behaviour } from './behaviour.ts'
import type { TestRunner } from './runner.ts'
import type { SandboxSubject } from './subject.ts'
import { commands } from './suites/commands.ts'
import { files } from './suites/files.ts'
import { lifecycle } from './suites/lifecycle.ts'
import { mounts } from './suites/mounts.ts'
import { processes } from './suites/processes.ts'
import { reconnect } from './suites/reconnect.ts'

const GROUPS: Readonly<Record<string, readonly Behaviour[]>> = {
  lifecycle,
  commands,
  processes,
  files,
  mounts,
  reconnect,
}

/**
 * Registers the behaviour suite for a provider: a group per theme, a test per behaviour. A behaviour that needs what the
 * subject does not declare is registered as a skip whose name says which capability is missing and why. Every test
 * makes sandboxes of its own and destroys them.
 *
 * Commands are POSIX shell lines; give a test 60 seconds where sandboxes are far away.
 */
export function describeSandbox(runner: TestRunner, subject: SandboxSubject): void {
  runner.describe(subject.name, () => {
    for (const [theme, behaviours] of Object.entries(GROUPS)) {
      runner.describe(theme, () => {
        for (const behaviour of behaviours) register(runner, subject, behaviour)
      })
    }
  })
}

function register(runner: TestRunner, subject: SandboxSubject, { name, needs = [], run }: Behaviour): void {
  const lacks = needs.flatMap((capability) => {
    const declared = subject.capabilities[capability]
    return declared === true ? [] : [`${capability}: ${declared}`]
  })
  const test = (): Promise<void> => trial(subject, run)
  if (lacks.length > 0) runner.test.skip(`${name} (needs ${lacks.join('; ')})`, test)
  else runner.test(name, test)
}

async function trial(subject: SandboxSubject, run: Behaviour['run']): Promise<void> {
  const id = `kit-${randomUUID()}`
  const made: WorkspaceSandbox[] = []
  try {
    await run({
      id,
      subject,
      sandbox: (request = {}) => {
        const sandbox = subject.createSandbox({ id, ...request })
        made.push(sandbox)
        return sandbox
      },
    })
  } finally {
    for (const sandbox of made) await callLifecycle(sandbox, 'destroy')
  }
}
