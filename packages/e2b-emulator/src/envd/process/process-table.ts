import type { Machine, MachineProcess, SpawnOptions } from '../../runtime/port.ts'
import type { Clock } from '../../clock.ts'
import type { Mailbox } from '../mailbox.ts'
import type { ProcessConfig, ProcessSelector } from '../generated/process/process_pb.ts'
import { createSubscriber, RunningProcess, type ProcessNews } from './running-process.ts'

/** A process in the table, and what it was started with. */
export interface TableEntry {
  readonly config: ProcessConfig
  readonly tag: string | undefined
  readonly terminal: boolean
  /** Whether input can be sent; false once it was closed. */
  stdin: boolean
  readonly running: RunningProcess
}

/** What {@link ProcessTable.start} needs to know. */
export interface StartOptions {
  readonly config: ProcessConfig
  readonly tag: string | undefined
  readonly spawn: SpawnOptions
  /** After so many milliseconds the process is killed; 0 never. */
  readonly timeoutMs: number
}

/** The processes one sandbox's envd has started and that still run. */
export class ProcessTable {
  readonly #entries = new Map<number, TableEntry>()
  readonly #machine: Machine
  readonly #clock: Clock
  readonly #cancelDeadlines = new Set<() => void>()

  constructor(machine: Machine, clock: Clock) {
    this.#machine = machine
    this.#clock = clock
  }

  /** Rejects as {@link Machine.spawn} does. The returned mailbox holds the output from the first byte. */
  async start(options: StartOptions): Promise<{ readonly entry: TableEntry; readonly news: Mailbox<ProcessNews> }> {
    const process = await this.#machine.spawn(options.spawn)
    const news = createSubscriber()
    const cancelDeadline = this.#startDeadline(process, options.timeoutMs)
    const running = new RunningProcess(process, news, () => {
      cancelDeadline()
      // A process id may already belong to the next process.
      if (this.#entries.get(process.pid)?.running === running) this.#entries.delete(process.pid)
    })
    const entry: TableEntry = {
      config: options.config,
      tag: options.tag,
      terminal: options.spawn.pty !== undefined,
      stdin: options.spawn.stdin,
      running,
    }
    this.#entries.set(process.pid, entry)
    return { entry, news }
  }

  list(): readonly TableEntry[] {
    return [...this.#entries.values()]
  }

  /** By id or tag; undefined where no running process fits. */
  find(selector: ProcessSelector['selector']): TableEntry | undefined {
    if (selector.case === 'pid') return this.#entries.get(selector.value)
    if (selector.case === 'tag') return this.list().find((entry) => entry.tag === selector.value)
    return undefined
  }

  /** Forgets everything, and ends what is being followed with `error`. The processes themselves end with the machine. */
  drop(error: unknown): void {
    for (const cancel of this.#cancelDeadlines) cancel()
    for (const entry of this.#entries.values()) entry.running.fail(error)
    this.#entries.clear()
  }

  #startDeadline(process: MachineProcess, timeoutMs: number): () => void {
    if (timeoutMs === 0) return () => {}
    const cancelTimer = this.#clock.schedule(() => {
      this.#cancelDeadlines.delete(cancel)
      // A process that ended in this very moment cannot be signalled, and need not be.
      process.signal('SIGKILL').catch(() => undefined)
    }, timeoutMs)
    const cancel = () => {
      cancelTimer()
      this.#cancelDeadlines.delete(cancel)
    }
    this.#cancelDeadlines.add(cancel)
    return cancel
  }
}
