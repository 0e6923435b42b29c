/** A pipe between this program and a command. The child's end goes to `spawn` and is then closed here. */
export interface Pipe {
  readonly ownFd: number
  readonly childFd: number
}

export interface Pipes {
  /** The command writes, this program reads. */
  output(): Pipe
  /** This program writes, the command reads. */
  input(): Pipe
}

/**
 * Real pipes for commands. What Node itself gives a child are sockets, and the kernel refuses to open one by path, so
 * that `echo failed >/dev/stderr` would fail inside. Named pipes that lose their name at once behave as the shell's do.
 */
export function createPipes(): Pipes {
  const fs = process.getBuiltinModule('node:fs')
  const { execFileSync } = process.getBuiltinModule('node:child_process')
  const { O_RDONLY, O_WRONLY, O_NONBLOCK } = fs.constants
  // Making them is a process of its own, so it is done for many at once.
  const batch = 64
  let names: string[] = []

  const refill = () => {
    const directory = fs.mkdtempSync('/dev/shm/.pipes-')
    names = Array.from({ length: batch }, (_, index) => `${directory}/${index}`)
    // Writable by any user: opening `/dev/stdout` checks the permission again.
    execFileSync('mkfifo', ['-m', '666', ...names])
  }
  const take = (): string => {
    for (;;) {
      const name = names.pop()
      // Root inside may have removed them.
      if (name !== undefined && fs.existsSync(name)) return name
      if (name === undefined) refill()
    }
  }

  return {
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
