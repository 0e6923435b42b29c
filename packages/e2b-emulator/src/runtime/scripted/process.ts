import type { MachineProcess, ProcessExit, ProcessOutput } from '../port.ts'
import type { ScriptedResult } from './table.ts'

type SignalName = 'SIGTERM' | 'SIGKILL' | 'SIGINT'

const SIGNAL_WORDS: Readonly<Record<SignalName, string>> = {
  SIGTERM: 'signal: terminated',
  SIGKILL: 'signal: killed',
  SIGINT: 'signal: interrupt',
}

/** The caller's side of a command that is played from a table. */
export class ScriptedProcess implements MachineProcess {
  readonly pid: number
  readonly exit: Promise<ProcessExit>
  readonly stdin: ReadableStream<Uint8Array>
  readonly #abort = new AbortController()
  readonly #listeners = new Set<(output: ProcessOutput) => void | Promise<void>>()
  readonly #held: ProcessOutput[] = []
  #end: (exit: ProcessExit) => void = () => {}
  readonly #pipe: 'stdout' | 'pty'
  #stdin: ReadableStreamDefaultController<Uint8Array> | undefined
  #exit: ProcessExit | undefined
  #frozen = false
  #delivering = false

  constructor(options: { pid: number; stdin: boolean; pty: boolean }) {
    this.pid = options.pid
    this.exit = new Promise((resolve) => {
      this.#end = resolve
    })
    this.#pipe = options.pty ? 'pty' : 'stdout'
    this.stdin = new ReadableStream({
      start: (controller) => {
        this.#stdin = controller
      },
    })
    if (!options.stdin && !options.pty) this.#closeStdin()
  }

  get aborted(): AbortSignal {
    return this.#abort.signal
  }

  /** Runs the answer to its end and reports it as the exit; never rejects. */
  async play(answer: () => Promise<ScriptedResult>): Promise<void> {
    try {
      const result = await answer()
      this.emit('stdout', result.stdout ?? '')
      this.emit('stderr', result.stderr ?? '')
      this.#finish(exited(result.exitCode ?? 0))
    } catch (error) {
      // A handler that throws is a fault of the script, shown where its author looks: in the command's output.
      this.emit('stderr', `scripted runtime: ${error instanceof Error ? error.message : String(error)}\n`)
      this.#finish(exited(1))
    }
  }

  emit(stream: 'stdout' | 'stderr', text: string): void {
    if (text === '' || this.#exit !== undefined) return
    const output: ProcessOutput = {
      stream: this.#pipe === 'pty' ? 'pty' : stream,
      data: new TextEncoder().encode(text),
    }
    this.#held.push(output)
    this.#flush()
  }

  onOutput(listener: (output: ProcessOutput) => void | Promise<void>): () => void {
    this.#listeners.add(listener)
    this.#flush()
    return () => this.#listeners.delete(listener)
  }

  async write(data: Uint8Array): Promise<void> {
    this.#stdin?.enqueue(data)
  }

  async closeStdin(): Promise<void> {
    this.#closeStdin()
  }

  async resize(): Promise<void> {
    // A scripted terminal draws nothing that depends on its size.
  }

  async signal(name: SignalName): Promise<void> {
    this.#finish({ exitCode: -1, exited: false, status: SIGNAL_WORDS[name] })
    this.#abort.abort()
    this.#closeStdin()
  }

  freeze(): void {
    this.#frozen = true
  }

  thaw(): void {
    this.#frozen = false
    this.#flush()
  }

  #finish(exit: ProcessExit): void {
    this.#exit ??= exit
    this.#flush()
  }

  #closeStdin(): void {
    this.#stdin?.close()
    this.#stdin = undefined
  }

  #flush(): void {
    if (!this.#delivering) void this.#deliver()
  }

  /** Hands out what is held, one chunk at a time, then the exit; a listener that returns a promise is waited for. */
  async #deliver(): Promise<void> {
    this.#delivering = true
    while (!this.#frozen && this.#listeners.size > 0 && this.#held.length > 0) {
      const output = this.#held.shift()
      if (output !== undefined) await Promise.all([...this.#listeners].map(async (listener) => listener(output)))
    }
    this.#delivering = false
    if (!this.#frozen && this.#exit !== undefined) this.#end(this.#exit)
  }
}

const exited = (exitCode: number): ProcessExit => ({ exitCode, exited: true, status: `exit status ${exitCode}` })
