import type { Account, Accounts, Failures } from './accounts.ts'
import type { TerminalSize } from './contract.ts'

/** A pseudo terminal of the machine. The child's end goes to `spawn` and is then closed here. */
export interface Terminal {
  readonly childFd: number
  /** What the command writes; ends when nobody holds the other end any more. */
  output(): AsyncIterable<Buffer>
  /** Resolves once the terminal took all of it; rejects when it is closed. */
  write(data: Buffer): Promise<void>
  resize(size: TerminalSize): Promise<void>
  /** For a terminal that no command was started on; one whose output was read to its end is closed with that. */
  discard(): void
}

export interface Terminals {
  /** Opens one in the machine's own `/dev/pts`. Throws `unsupported` where the machine has no perl. */
  open(size: TerminalSize, account: Account): Promise<Terminal>
}

/**
 * Terminals without a native module: Node opens and reads `/dev/ptmx` itself. It lacks but the ioctls that unlock the other
 * end and set the size; perl, which is on every Debian, makes those calls on the descriptor it is given. `stty` would set
 * the two halves of a size one after the other, and the program on the terminal would see what is in between.
 */
export function createTerminals(accounts: Accounts, failures: Failures): Terminals {
  const fs = process.getBuiltinModule('node:fs')
  const { spawn } = process.getBuiltinModule('node:child_process')
  const { ReadStream } = process.getBuiltinModule('node:tty')
  const { O_RDWR, O_NOCTTY, O_NONBLOCK } = fs.constants
  // TIOCSPTLCK and TIOCSWINSZ, which have these numbers wherever Node runs on Linux but PowerPC.
  const [unlocking, sizing] = process.arch === 'ppc64' ? ['0x80045431', '0x80087467'] : ['0x40045431', '0x5414']
  const unlock = `my $locked = pack("i", 0); ioctl(STDIN, ${unlocking}, $locked) or die "$!"`
  const takeSize = `my $size = pack("S4", @ARGV, 0, 0); ioctl(STDIN, ${sizing}, $size) or die "$!"`
  /** Until a full terminal is tried again; it cannot be waited for, because Node's own stream blocks on it instead. */
  const retryMs = 10

  const codes = { full: 'EAGAIN', closed: 'EIO' } as const
  const means = (error: unknown, code: keyof typeof codes) =>
    error instanceof Error && 'code' in error && error.code === codes[code]

  const control = (master: number, calls: readonly string[], { cols, rows }: TerminalSize) =>
    new Promise<void>((resolve, reject) => {
      const child = spawn('perl', ['-e', calls.join('; '), String(rows), String(cols)], {
        stdio: [master, 'ignore', 'ignore'],
      })
      child.once('error', (error) =>
        reject(failures.create('unsupported', `a terminal needs perl in the machine: ${error.message}`)),
      )
      child.once('close', (code, signal) => {
        if (code === 0) resolve()
        else reject(failures.create('failed', `perl ended with ${signal ?? code}`))
      })
    })

  const pathOf = (master: number): string => {
    const index = /^tty-index:\s*(\d+)$/m.exec(fs.readFileSync(`/proc/self/fdinfo/${master}`, 'utf8'))?.[1]
    if (index === undefined) throw failures.create('unsupported', 'the kernel does not tell the number of a terminal')
    return `/dev/pts/${index}`
  }

  const openChildEnd = async (master: number, size: TerminalSize, account: Account) => {
    await control(master, [unlock, takeSize], size)
    const path = pathOf(master)
    accounts.own(path, account)
    return fs.openSync(path, O_RDWR | O_NOCTTY)
  }

  return {
    async open(size, account) {
      const master = fs.openSync('/dev/ptmx', O_RDWR | O_NOCTTY | O_NONBLOCK)
      const childFd = await openChildEnd(master, size, account).catch((error: unknown) => {
        fs.closeSync(master)
        throw error
      })
      const state = { closed: false, writing: Promise.resolve() }

      const writeAll = async (data: Buffer): Promise<void> => {
        for (let offset = 0; offset < data.length;) {
          if (state.closed) throw failures.create('gone', 'the terminal is closed')
          try {
            offset += fs.writeSync(master, data, offset)
          } catch (error) {
            if (!means(error, 'full')) throw error
            await new Promise((resolve) => setTimeout(resolve, retryMs))
          }
        }
      }

      return {
        childFd,
        async *output() {
          const stream = new ReadStream(master)
          // Before the descriptor is free for somebody else's file.
          stream.once('close', () => (state.closed = true))
          try {
            for await (const chunk of stream) yield Buffer.from(chunk)
          } catch (error) {
            // How a terminal says that the last of its other ends was closed.
            if (!means(error, 'closed')) throw error
          } finally {
            state.closed = true
            stream.destroy()
          }
        },
        write(data) {
          const written = state.writing.then(() => writeAll(data))
          // The next write is not held up by one that failed; that is told to its own caller.
          state.writing = written.catch(() => undefined)
          return written
        },
        async resize(next) {
          if (state.closed) throw failures.create('gone', 'the terminal is closed')
          await control(master, [takeSize], next)
        },
        discard() {
          state.closed = true
          fs.closeSync(master)
        },
      }
    },
  }
}
