import { cutOnAbort } from './abort.ts'
import { brokenConnection } from './cut-stream.ts'

/** The answers of sandboxes that are still being read. */
export class OpenStreams {
  readonly #open = new Map<AbortController, string>()

  /** The same answer; {@link drop} breaks its body off as long as it is not read to its end. */
  track(sandboxId: string, answer: Response): Response {
    if (answer.body === null) return answer
    const dropped = new AbortController()
    this.#open.set(dropped, sandboxId)
    return cutOnAbort(answer, dropped.signal, () => this.#open.delete(dropped))
  }

  /** Breaks off what is open, of one sandbox or of all; returns how many answers that were. */
  drop(sandboxId?: string): number {
    const chosen = [...this.#open].filter(([, owner]) => sandboxId === undefined || owner === sandboxId)
    for (const [dropped] of chosen) dropped.abort(brokenConnection())
    return chosen.length
  }
}
