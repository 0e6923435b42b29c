import { setImmediate as nextTurn } from 'node:timers/promises'
import type { MachineProcess, ProcessExit, ProcessOutput } from '../../runtime/port.ts'
import { Mailbox } from '../mailbox.ts'

/** What a subscriber of a process receives after its start. */
export type ProcessNews =
  | { readonly kind: 'output'; readonly output: ProcessOutput }
  | { readonly kind: 'exit'; readonly exit: ProcessExit }

/** Bytes of output one subscriber may be behind before the process has to wait for it. */
const SUBSCRIBER_CAPACITY = 256 * 1024

/**
 * Passes the output of one process to everyone attached to it. The slowest subscriber sets the pace; with none attached
 * output is discarded, because nothing is ever replayed.
 */
export class RunningProcess {
  readonly #process: MachineProcess
  readonly #subscribers = new Set<Mailbox<ProcessNews>>()
  #chunks = 0

  /**
   * Takes over the output of `process`, and hands it to `first` from its first byte. `onExit` is called before any
   * subscriber learns of the exit.
   */
  constructor(process: MachineProcess, first: Mailbox<ProcessNews>, onExit: () => void) {
    this.#process = process
    this.#subscribers.add(first)
    const stopListening = process.onOutput((output) => this.#publish(output))
    void this.#announceExit(onExit).finally(stopListening)
  }

  get pid(): number {
    return this.#process.pid
  }

  get machineProcess(): MachineProcess {
    return this.#process
  }

  /** Output from now on, then the exit. */
  attach(): Mailbox<ProcessNews> {
    const subscriber = createSubscriber()
    this.#subscribers.add(subscriber)
    return subscriber
  }

  /** The subscriber stops listening; the process goes on. */
  detach(subscriber: Mailbox<ProcessNews>): void {
    this.#subscribers.delete(subscriber)
    subscriber.abandon()
  }

  /** Cuts off everyone attached; for a sandbox that is gone. */
  fail(error: unknown): void {
    for (const subscriber of this.#subscribers) subscriber.fail(error)
    this.#subscribers.clear()
  }

  async #announceExit(onExit: () => void): Promise<void> {
    const exit = await this.#process.exit
    onExit()
    await this.#outputOver()
    for (const subscriber of this.#subscribers) {
      subscriber.put({ kind: 'exit', exit }, 0)
      subscriber.close()
    }
  }

  /**
   * After the exit the pipes are closed, but output read before may still be held back. It needs no more I/O to come:
   * a turn of the event loop without any, while there is room for it, was the last.
   */
  async #outputOver(): Promise<void> {
    let seen: number
    do {
      seen = this.#chunks
      await this.#room()
      await nextTurn()
    } while (seen !== this.#chunks)
  }

  #publish(output: ProcessOutput): void | Promise<void> {
    this.#chunks += 1
    for (const subscriber of this.#subscribers) {
      subscriber.put({ kind: 'output', output }, output.data.byteLength)
    }
    if ([...this.#subscribers].some((subscriber) => subscriber.full)) return this.#room()
  }

  async #room(): Promise<void> {
    await Promise.all([...this.#subscribers].map((subscriber) => subscriber.room()))
  }
}

/** A mailbox that fits a process. */
export function createSubscriber(): Mailbox<ProcessNews> {
  return new Mailbox(SUBSCRIBER_CAPACITY)
}
