import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { toolEnvironment } from './commands.ts'
import { janitorScript } from './scripts.ts'
import type { UserNamespace } from './user-namespace.ts'

/** A small process that outlives this one just long enough to remove the runtime's directory. */
export interface Janitor {
  /** Removes the directory now and waits for it. */
  dismiss(): Promise<void>
}

export function startJanitor(directory: string, userNamespace: UserNamespace): Janitor {
  // Files of a machine may be unreadable to the host user who stands for its root, but not to that root.
  const prefix = userNamespace.singleUser ? userNamespace.enter : []
  const [command, ...args] = [...prefix, 'sh', '-c', janitorScript, 'janitor', directory]
  const child = spawn(command, args, {
    cwd: '/',
    env: toolEnvironment,
    // A session of its own: an interrupt from the terminal must not take it before its work.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore', userNamespace.fd],
  })
  child.unref()
  // It is waiting for exactly this pipe to break; there is nothing to write.
  child.stdin?.on('error', () => undefined)
  const exited = once(child, 'exit')
  return {
    async dismiss() {
      child.ref()
      child.stdin?.end()
      await exited
    },
  }
}
