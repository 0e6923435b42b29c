import { randomUUID } from 'node:crypto'
import type { MachineFiles } from '../../runtime/port.ts'
import type { Mailbox } from '../mailbox.ts'
import {
  completed,
  watchDirectory,
  type FilesystemEventInit,
  type ReportedChange,
  type WatchRequest,
} from './directory-watch.ts'

interface Watcher {
  readonly events: Mailbox<ReportedChange>
  readonly request: WatchRequest
  readonly stop: () => void
}

/** The watches of one sandbox: those that clients poll by id, and those whose stream is open. */
export class WatcherTable {
  readonly #files: MachineFiles
  readonly #polled = new Map<string, Watcher>()
  readonly #streamed = new Set<Watcher>()

  constructor(files: MachineFiles) {
    this.#files = files
  }

  /** Starts a watch that is polled; resolves to its id. */
  async create(request: WatchRequest): Promise<string> {
    const watcher = { ...(await watchDirectory(this.#files, request)), request }
    const id = `w${randomUUID()}`
    this.#polled.set(id, watcher)
    return id
  }

  /** What happened since the last call; undefined where the id is unknown. Throws what the watch failed with. */
  async take(id: string): Promise<FilesystemEventInit[] | undefined> {
    const watcher = this.#polled.get(id)
    if (watcher === undefined) return undefined
    return Promise.all(watcher.events.takeAll().map((event) => completed(event, this.#files, watcher.request)))
  }

  /** Ends a watch that is polled; false where the id is unknown. */
  remove(id: string): boolean {
    this.#polled.get(id)?.stop()
    return this.#polled.delete(id)
  }

  /** Starts a watch for a stream; `stop` must be called when the stream is over. */
  async open(request: WatchRequest): Promise<{ readonly events: Mailbox<ReportedChange>; readonly stop: () => void }> {
    const { events, stop } = await watchDirectory(this.#files, request)
    const watcher = { events, request, stop }
    this.#streamed.add(watcher)
    return {
      events,
      stop: () => {
        this.#streamed.delete(watcher)
        stop()
      },
    }
  }

  /** Ends every watch; streams end with `error`. */
  drop(error: unknown): void {
    for (const watcher of this.#streamed) watcher.events.fail(error)
    for (const watcher of [...this.#streamed, ...this.#polled.values()]) watcher.stop()
    this.#streamed.clear()
    this.#polled.clear()
  }
}
