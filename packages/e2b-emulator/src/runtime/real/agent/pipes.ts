import type { AgentSettings } from './contract.ts'

/** A pipe between this program and a command. The child's end goes to `spawn` and is then closed here. */
export interface Pipe {
  readonly ownFd: number
  readonly childFd: number
}

export interface Pipes {
  /** Resolves once there are pipes for one more command; others may take them first, and then {@link output} waits. */
  prepare(): Promise<void>
  /** The command writes, this program reads. */
  output(): Pipe
  /** This program writes, the command reads. */
  input(): Pipe
}

/**
 * Real pipes for commands. What Node itself gives a child are sockets, and the kernel refuses to open one by path, so
 * that `echo failed >/dev/stderr` would fail inside. Named pipes that lose their name at once behave as the shell's do.
 */
export function createPipes(settings: AgentSettings): Pipes {
  const fs = process.getBuiltinModule('node:fs')
  const { execFile, execFileSync } = process.getBuiltinModule('node:child_process')
  const { O_RDONLY, O_WRONLY, O_NONBLOCK } = fs.constants
  // Making them is a process of its own, so it is done for many at once, and before the last ones are taken.
  const batch = 64
  const few = 12
  const perCommand = 3
  const names: string[] = []
  let refilling: Promise<void> | undefined

  const nextBatch = () => {
    const directory = fs.mkdtempSync(`${settings.scratch}/.pipes-`)
    const made = Array.from({ length: batch }, (_, index) => `${directory}/${index}`)
    // Writable by any user: opening `/dev/stdout` checks the permission again.
    return { made, options: ['-m', '666', ...made] }
  }
  const refill = () => {
    refilling ??= new Promise<void>((resolve, reject) => {
      const { made, options } = nextBatch()
      execFile('mkfifo', options, (error) => {
        refilling = undefined
        if (error === null) {
          names.push(...made)
          resolve()
        } else reject(error)
      })
    })
    return refilling
  }
  const take = (): string => {
    for (;;) {
      const name = names.pop()
      // Root inside may have removed them.
      if (name !== undefined && fs.existsSync(name)) return name
      if (name === undefined) {
        const { made, options } = nextBatch()
        execFileSync('mkfifo', options)
        names.push(...made)
      }
    }
  }

  return {
    async prepare() {
      // What fails here fails again where a pipe is taken, and is told there.
      if (names.length < few) refill().catch(() => undefined)
      if (names.length < perCommand) await refilling?.catch(() => undefined)
    },
    output() {
      const name = take()
      const ownFd = fs.openSync(name, O_RDONLY | O_NONBLOCK)
      const childFd = fs.openSync(name, O_WRONLY)
      fs.unlinkSync(name)
      return { ownFd, childFd }
    },
    input() {
      const name = take()
      // A writer that does not block needs a reader to be there, and a reader that may block needs a writer.
      const opener = fs.openSync(name, O_RDONLY | O_NONBLOCK)
      const ownFd = fs.openSync(name, O_WRONLY | O_NONBLOCK)
      const childFd = fs.openSync(name, O_RDONLY)
      fs.closeSync(opener)
      fs.unlinkSync(name)
      return { ownFd, childFd }
    },
  }
}
