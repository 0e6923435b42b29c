import { spawn } from 'node:child_process'
import { RuntimeError } from './port.ts'
import { toolEnvironment } from './real/commands.ts'

/** A small process that outlives this one just long enough to remove what it put on the host. */
export interface Janitor {
  /** Has it work now and waits for that. Rejects with `failed` where it could not be started. */
  dismiss(): Promise<void>
}

/**
 * Starts one: a program that reads its input and goes to work at the end of it. That comes when this process ends, in
 * whatever way. `fds` are descriptors that it needs, from 3 on.
 */
export function startJanitor(argv: readonly [string, ...string[]], fds: readonly number[] = []): Janitor {
  const [command, ...args] = argv
  const child = spawn(command, args, {
    cwd: '/',
    env: toolEnvironment,
    // A session of its own: an interrupt from the terminal must not take it before its work.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore', ...fds],
  })
  child.unref()
  // It is waiting for exactly this pipe to break; there is nothing to write.
  child.stdin?.on('error', () => undefined)
  const ended = new Promise<void>((resolve, reject) => {
    child.once('exit', () => resolve())
    child.once('error', (cause) => reject(new RuntimeError('failed', `${command} could not be started`, { cause })))
  })
  // Told to whoever dismisses it.
  ended.catch(() => undefined)
  return {
    async dismiss() {
      child.ref()
      child.stdin?.end()
      await ended
    },
  }
}

/** Removes the directory given. What still ends there may write meanwhile, so it tries again for half a minute. */
const removalScript = `
trap '' INT TERM HUP
read -r _
attempt=0
until rm -rf -- "$1" 2>/dev/null; do
  attempt=$((attempt + 1))
  [ "$attempt" -lt 300 ] || exit 1
  sleep 0.1
done
`

/** A program that removes a directory, as {@link startJanitor} takes it. */
export const removalOf = (directory: string) => ['sh', '-c', removalScript, 'janitor', directory] as const
