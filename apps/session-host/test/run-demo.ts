import { spawn, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'

const program = join(import.meta.dirname, '../src/main.ts')

export interface DemoRun {
  readonly child: ChildProcess
  /** Resolves once the program has ended and said its last word. */
  readonly ended: Promise<{ code: number | null; stdout: string; stderr: string }>
  /** Resolves once stderr holds `text`; rejects where the program ends without it. */
  seen(text: string): Promise<void>
}

/** Starts the demo as a user does, in a process of its own. */
export function startDemo(args: readonly string[], environment: Readonly<Record<string, string>> = {}): DemoRun {
  const child = spawn(process.execPath, [program, ...args], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  const watchers = new Set<() => void>()
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk))
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    stderr += chunk
    for (const watcher of watchers) watcher()
  })
  const ended = new Promise<{ code: number | null; stdout: string; stderr: string }>((resolve, reject) => {
    child.once('error', reject).once('close', (code) => resolve({ code, stdout, stderr }))
  })
  return {
    child,
    ended,
    seen: async (text) => {
      const appeared = new Promise<void>((resolve) => {
        const watcher = (): void => {
          if (!stderr.includes(text)) return
          watchers.delete(watcher)
          resolve()
        }
        watchers.add(watcher)
        watcher()
      })
      const gone = ended.then((result) =>
        Promise.reject(new Error(`the demo ended before it said "${text}":\n${result.stderr}`)),
      )
      await Promise.race([appeared, gone])
    },
  }
}
