import type { ChildProcessByStdio } from 'node:child_process'
import type { Readable } from 'node:stream'

export interface GitRun {
  readonly cwd: string
  /** The whole environment. */
  readonly env: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  /** Receives standard error as it comes. */
  readonly onError?: (text: string) => void
}

export type GitOutcome =
  /** There is no git on this machine. */
  { readonly kind: 'missing' } | { readonly kind: 'ended'; readonly exitCode: number; readonly output: string }

const longestOutput = 1024 * 1024

/** Runs git on this machine. When the signal is aborted, ends it with all it started, and rejects with the reason. */
export const runGit = async (args: readonly string[], { cwd, env, signal, onError }: GitRun): Promise<GitOutcome> => {
  const { spawn } = await import('node:child_process')
  signal.throwIfAborted()
  return new Promise((resolve, reject) => {
    const child = spawn('git', [...args], {
      cwd,
      env: { ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      // Its own group, so that the helper that holds the connection ends together with it.
      detached: process.platform !== 'win32',
    })
    const onAbort = () => kill(child)
    signal.addEventListener('abort', onAbort, { once: true })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
      if (output.length > longestOutput) kill(child)
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => onError?.(text))
    child.once('error', (error) => {
      signal.removeEventListener('abort', onAbort)
      if ('code' in error && error.code === 'ENOENT') resolve({ kind: 'missing' })
      else reject(error)
    })
    child.once('close', (exitCode) => {
      signal.removeEventListener('abort', onAbort)
      if (signal.aborted) reject(signal.reason)
      else resolve({ kind: 'ended', exitCode: exitCode ?? -1, output })
    })
  })
}

const kill = (child: ChildProcessByStdio<null, Readable, Readable>): void => {
  if (child.pid === undefined) return
  try {
    if (process.platform === 'win32') child.kill('SIGKILL')
    else process.kill(-child.pid, 'SIGKILL')
  } catch (error) {
    // ESRCH: it ended by itself just now, which is what was wanted.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}
