import type { MachineProcess, ProcessExit, ProcessOutput } from '../../../src/runtime/port.ts'

/** A process the test plays by hand: it says when there is output, and how it ends. */
export class PlayedProcess implements MachineProcess {
  readonly pid: number
  readonly exit: Promise<ProcessExit>
  readonly signals: string[] = []
  readonly input: string[] = []
  readonly sizes: { readonly cols: number; readonly rows: number }[] = []
  stdinClosed = false
  #end: (exit: ProcessExit) => void = () => undefined
  #listener: ((output: ProcessOutput) => void | Promise<void>) | undefined

  constructor(pid = 77) {
    this.pid = pid
    this.exit = new Promise((resolve) => {
      this.#end = resolve
    })
  }

  /** Resolves when the reader is ready for more. */
  async say(text: string, stream: ProcessOutput['stream'] = 'stdout'): Promise<void> {
    await this.emit({ stream, data: new TextEncoder().encode(text) })
  }

  async emit(output: ProcessOutput): Promise<void> {
    await this.#listener?.(output)
  }

  end(exitCode = 0): void {
    this.#end({ exitCode, exited: true, status: `exit status ${exitCode}` })
  }

  onOutput(listener: (output: ProcessOutput) => void | Promise<void>): () => void {
    this.#listener = listener
    return () => {
      this.#listener = undefined
    }
  }

  async write(data: Uint8Array): Promise<void> {
    this.input.push(new TextDecoder().decode(data))
  }

  async closeStdin(): Promise<void> {
    this.stdinClosed = true
  }

  async resize(size: { readonly cols: number; readonly rows: number }): Promise<void> {
    this.sizes.push(size)
  }

  async signal(name: 'SIGTERM' | 'SIGKILL' | 'SIGINT'): Promise<void> {
    this.signals.push(name)
    this.#end({ exitCode: -1, exited: false, status: 'signal: killed' })
  }
}
