import { Agent } from '@mastra/core/agent'
import { Workspace, WORKSPACE_TOOLS } from '@mastra/core/workspace'
import type { E2BSandbox } from '@warmbox/sandbox'
import { SandboxFilesystem } from './sandbox-filesystem.ts'
import { type Results, scriptedModel } from './scripted-model.ts'

const { FILESYSTEM, SANDBOX } = WORKSPACE_TOOLS
const HOME = '/home/user'

/** What came of the work: each tool's name with its result or failure, and what was said in the end. */
export interface Work {
  readonly steps: readonly { readonly tool: string; readonly result: string }[]
  readonly text: string
}

/** The id of the process started last, out of what the tool that started it says. */
const pidIn = (results: Results): string => [...results.join('\n').matchAll(/\(PID: (\d+)\)/g)].at(-1)?.[1] ?? 'unknown'

/**
 * Has an agent write a program, run it, change it and run it in the background, with the tools Mastra makes for its
 * workspace. The model is a script; give the agent another one to have it think.
 */
export async function work(sandbox: E2BSandbox): Promise<Work> {
  const workspace = new Workspace({ sandbox, filesystem: new SandboxFilesystem(sandbox, HOME) })
  const agent = new Agent({
    id: 'worker',
    name: 'worker',
    instructions: 'Write a program and run it.',
    workspace,
    model: scriptedModel([
      () => ({
        calls: [{ tool: FILESYSTEM.WRITE_FILE, input: { path: 'greet.sh', content: 'echo "Hello, ${1:-world}"\n' } }],
      }),
      () => ({ calls: [{ tool: SANDBOX.EXECUTE_COMMAND, input: { command: `sh ${HOME}/greet.sh sandbox` } }] }),
      () => ({ calls: [{ tool: FILESYSTEM.READ_FILE, input: { path: 'greet.sh' } }] }),
      () => ({
        calls: [
          {
            tool: FILESYSTEM.EDIT_FILE,
            input: { path: 'greet.sh', old_string: 'Hello', new_string: 'Good evening' },
          },
        ],
      }),
      () => ({ calls: [{ tool: FILESYSTEM.LIST_FILES, input: { path: '.' } }] }),
      () => ({
        calls: [
          {
            tool: SANDBOX.EXECUTE_COMMAND,
            input: { command: `sh ${HOME}/greet.sh`, background: true },
          },
        ],
      }),
      (results) => ({ calls: [{ tool: SANDBOX.GET_PROCESS_OUTPUT, input: { pid: pidIn(results), wait: true } }] }),
      () => ({ calls: [{ tool: SANDBOX.EXECUTE_COMMAND, input: { command: 'exec sleep 600', background: true } }] }),
      (results) => ({ calls: [{ tool: SANDBOX.KILL_PROCESS, input: { pid: pidIn(results) } }] }),
      () => ({ say: 'The program greets.' }),
    ]),
  })
  await workspace.init()
  try {
    const answer = await agent.stream('Greet me.', { maxSteps: 20 })
    const steps: Work['steps'][number][] = []
    for await (const part of answer.fullStream) {
      if (part.type === 'tool-result') {
        steps.push({ tool: part.payload.toolName, result: textOf(part.payload.result) })
      } else if (part.type === 'tool-error') {
        steps.push({ tool: part.payload.toolName, result: `failed: ${String(part.payload.error)}` })
      }
    }
    return { steps, text: await answer.text }
  } finally {
    await workspace.destroy()
  }
}

const textOf = (result: unknown): string => (typeof result === 'string' ? result : JSON.stringify(result))
