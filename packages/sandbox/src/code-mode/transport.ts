import { randomBytes } from 'node:crypto'
import * as nodeModule from 'node:module'
import {
  buildProgramModule,
  buildRunner,
  type CodeModeDoneEvent,
  type CodeModeToolResult,
  type CodeModeTransport,
  sanitizeToolId,
} from '@mastra/core/tools'
import type { ProcessHandle, WorkspaceSandbox } from '@mastra/core/workspace'
import { quoteShell } from '@warmbox/resolution'
import { E2BSandboxError } from '../errors.ts'
import { FrameReader } from './frames.ts'
import { ToolCalls } from './tool-calls.ts'

type RunOptions = Parameters<CodeModeTransport['run']>[0]

/** What a program prints past the protocol is kept for the error of one that ends without a result. */
const RETAINED_BYTES = 16_384

/**
 * Runs the programs of Mastra's code mode in a sandbox that has its own file system, such as {@link E2BSandbox}:
 * `createCodeMode({ tools, sandbox }, new E2BCodeModeTransport())`. Types are stripped on the host where that is Node, so
 * any Node with ES modules in the template will do; other hosts leave it to that of the template, which then must be 22.18
 * or newer. Calls to tools come back to the host.
 */
export class E2BCodeModeTransport implements CodeModeTransport {
  /**
   * Failures of the program, the time limit and an abort are results.
   * @throws E2BSandboxError `INVALID_OPTION` for a sandbox without processes or files; what reaching it throws
   */
  async run(options: RunOptions): Promise<CodeModeToolResult> {
    const { abortSignal, program, timeout, toolIds } = options
    const { processes, writeFiles } = abilitiesOf(options.sandbox)
    const directory = `/tmp/warmbox-code-${randomBytes(8).toString('hex')}`
    const runner = `${directory}/runner.mjs`
    let sources: Sources
    try {
      sources = sourcesOf(program, toolIds)
    } catch (error) {
      return failed(error instanceof Error ? error : new Error(String(error)), [])
    }
    await writeFiles(
      [
        { path: `${directory}/${sources.programFile}`, content: sources.program },
        { path: runner, content: sources.runner },
      ],
      abortSignal === undefined ? {} : { abortSignal },
    )

    const logs: string[] = []
    const calls = new ToolCalls(options)
    const done = deferred<CodeModeDoneEvent>()
    const reader = new FrameReader((frame) => {
      switch (frame.type) {
        case 'log':
          logs.push(frame.message)
          return
        case 'done':
          done.resolve(frame)
          return
        case 'rpc':
          void calls.answer(frame).then((answer) => send(handle, answer))
          return
        default:
          frame satisfies never
      }
    })
    // A program that is killed leaves its files in /tmp; one more command for them could wake a sandbox that has ended.
    const handle = processes.spawn(`node ${runner}; code=$?; rm -rf -- ${quoteShell(directory)}; exit $code`, {
      maxRetainedBytes: RETAINED_BYTES,
      onStdout: (chunk) => reader.read(chunk),
      // On the process as well: should this host be gone by then, the sandbox ends it.
      timeout,
      ...(abortSignal === undefined ? {} : { abortSignal }),
    })
    const running = await handle
    const ended = running.wait()
    const finished = await Promise.race([done.promise, ended.then(() => undefined)])
    if (finished !== undefined) {
      // Its result is there; what it still does has no say any more.
      ended.catch(() => undefined)
      return finished.ok
        ? { success: true, result: finished.result, logs }
        : { success: false, logs, error: finished.error ?? { message: 'The program failed' } }
    }
    const { stderr, timedOut } = await ended
    if (timedOut === true) return failed(named('TimeoutError', `The program was ended after ${timeout} ms`), logs)
    if (abortSignal?.aborted) return failed(named('AbortError', 'The program was aborted'), logs)
    return failed(named('NoResultError', `The program ended without a result: ${stderr.trim()}`), logs)
  }
}

interface Sources {
  readonly programFile: string
  readonly program: string
  readonly runner: string
}

/** Throws for a program that is no TypeScript, or none whose types can be left out, and for tools of the same name. */
function sourcesOf(program: string, toolIds: readonly string[]): Sources {
  const typed = buildProgramModule(program)
  const canStrip = typeof nodeModule.stripTypeScriptTypes === 'function'
  const programFile = canStrip ? 'program.mjs' : 'program.ts'
  const externals = toolIds.map((toolId) => ({ toolId, externalName: sanitizeToolId(toolId) }))
  return {
    programFile,
    program: canStrip ? nodeModule.stripTypeScriptTypes(typed) : typed,
    runner: buildRunner({ programModule: `./${programFile}`, externals }),
  }
}

function abilitiesOf(sandbox: WorkspaceSandbox | undefined): {
  processes: NonNullable<WorkspaceSandbox['processes']>
  writeFiles: NonNullable<WorkspaceSandbox['writeFiles']>
} {
  if (sandbox?.processes !== undefined && sandbox.writeFiles !== undefined) {
    return { processes: sandbox.processes, writeFiles: sandbox.writeFiles.bind(sandbox) }
  }
  throw new E2BSandboxError({
    code: 'INVALID_OPTION',
    message: 'Code mode needs a sandbox with processes and writeFiles',
    hint: 'Give an E2BSandbox as the sandbox of createCodeMode or of the workspace',
  })
}

async function send(handle: Promise<ProcessHandle>, answer: string): Promise<void> {
  try {
    await (await handle).sendStdin(`${answer}\n`)
  } catch {
    // The program has ended before its answer; whoever waits for it is told of that end.
  }
}

const named = (name: string, message: string): Error => Object.assign(new Error(message), { name })

const failed = ({ message, name }: Error, logs: string[]): CodeModeToolResult => ({
  success: false,
  logs,
  error: { message, name },
})

const ignore = (): void => undefined

function deferred<T>(): { readonly promise: Promise<T>; resolve(value: T): void } {
  let resolve: (value: T) => void = ignore
  const promise = new Promise<T>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}
