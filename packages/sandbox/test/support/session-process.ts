/**
 * A host of its own for one session. It reads its options as JSON from the arguments, says `ready`, waits for a line on
 * stdin, carries out the steps and says what sandbox it has after each.
 */
import { E2BSandbox, type E2BSandboxOptions } from '@warmbox/sandbox'
import { once } from 'node:events'

interface Task {
  readonly options: E2BSandboxOptions
  readonly steps: readonly ('start' | 'command' | 'stop' | 'destroy')[]
}

const task: Task = JSON.parse(process.argv[2] ?? '')
const sandbox = new E2BSandbox(task.options)
process.stdout.write('ready\n')
await once(process.stdin, 'data')
process.stdin.destroy()
for (const step of task.steps) {
  if (step === 'start') await sandbox.start()
  else if (step === 'command') await sandbox.executeCommand('true')
  else if (step === 'stop') await sandbox.stop()
  else await sandbox.destroy()
  process.stdout.write(`${JSON.stringify({ step, sandboxId: sandbox.sandboxId ?? null })}\n`)
}
