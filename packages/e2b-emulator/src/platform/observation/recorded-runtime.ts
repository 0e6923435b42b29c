import type { Clock } from '../../clock.ts'
import type { ImageId, Machine, MachineFiles, MachineProcess, Runtime, SpawnOptions } from '../../runtime/port.ts'
import { appendCapped, journalOf, type ActivityEntry, type Journals, type SandboxJournal } from './journal.ts'

export interface Records {
  readonly journals: Journals
  readonly activity: ActivityEntry[]
}

/** A runtime that keeps a journal of every sandbox: what its machine and its processes really did. Builds have logs of their own. */
export function recordedRuntime(runtime: Runtime, records: Records, clock: Clock): Runtime {
  return {
    kind: runtime.kind,
    description: runtime.description,
    baseImage: (image) => runtime.baseImage(image),
    deleteImage: (image) => runtime.deleteImage(image),
    inspectImage: (image) => runtime.inspectImage(image),
    close: () => runtime.close(),
    async createMachine(image, options) {
      const machine = await runtime.createMachine(image, options)
      return options.purpose === 'build' ? machine : new RecordedMachine(machine, records, clock)
    },
  }
}

class RecordedMachine implements Machine {
  readonly id: string
  readonly confined: boolean
  readonly files: MachineFiles
  readonly #machine: Machine
  readonly #records: Records
  readonly #clock: Clock
  readonly #journal: SandboxJournal
  #running = false

  constructor(machine: Machine, records: Records, clock: Clock) {
    this.id = machine.id
    this.confined = machine.confined
    this.files = machine.files
    this.#machine = machine
    this.#records = records
    this.#clock = clock
    this.#journal = journalOf(records.journals, machine.id, clock.now())
    this.#journal.lastReading = { at: clock.now(), cpuTimeMs: 0 }
    this.#life('started', true)
  }

  async spawn(options: SpawnOptions): Promise<MachineProcess> {
    const command = [options.command, ...options.args].join(' ')
    const fields = { logger: 'process', command, user: options.user }
    try {
      const child = await this.#machine.spawn(options)
      const pid = String(child.pid)
      this.#write('info', `process ${pid} started: ${command}`, { ...fields, pid })
      void child.exit.then(({ status, exitCode }) =>
        this.#write('info', `process ${pid} ended: ${status}`, { ...fields, pid, exitCode: String(exitCode) }),
      )
      return child
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      this.#write('error', `process could not be started: ${reason}`, fields)
      throw error
    }
  }

  async pause(): Promise<void> {
    await this.#machine.pause()
    this.#life('paused', false)
  }

  async resume(): Promise<void> {
    await this.#machine.resume()
    this.#life('resumed', true)
  }

  snapshot(): Promise<ImageId> {
    return this.#machine.snapshot()
  }

  async destroy(): Promise<void> {
    await this.#machine.destroy()
    this.#life('stopped', false)
  }

  get ended(): Promise<void> {
    return this.#machine.ended
  }

  connect(port: number) {
    return this.#machine.connect(port)
  }

  usage() {
    return this.#machine.usage()
  }

  #life(event: 'started' | 'paused' | 'resumed' | 'stopped', running: boolean): void {
    this.#write('info', `machine ${event}`, { logger: 'machine', event })
    this.#journal.ended = event === 'stopped'
    // A paused machine that ends does not run any less.
    if (running === this.#running) return
    this.#running = running
    const { activity } = this.#records
    const before = activity.at(-1)?.running ?? 0
    appendCapped(activity, {
      at: this.#clock.now(),
      running: running ? before + 1 : before - 1,
      started: event === 'started',
    })
  }

  #write(level: 'info' | 'error', message: string, fields: Readonly<Record<string, string>>): void {
    appendCapped(this.#journal.entries, { at: this.#clock.now(), level, message, fields })
  }
}
