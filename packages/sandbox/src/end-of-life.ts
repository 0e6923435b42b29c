/** The stops and destroys of a sandbox that are under way. */
export class EndOfLife {
  #destroys = 0
  #last: Promise<void> = Promise.resolve()

  /** From the call of a destroy on, before anything has come of it. */
  get isDestroying(): boolean {
    return this.#destroys > 0
  }

  /** Does the work of a destroy; they may be nested. */
  async destroying(work: () => Promise<void>): Promise<void> {
    this.#destroys += 1
    try {
      await work()
    } finally {
      this.#destroys -= 1
    }
  }

  /** Asks nothing of E2B while another one is asking. `work` must not come back here. */
  inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#last.then(work)
    // Who has begun it is told of its failure; the next one only waits.
    this.#last = turn.catch(() => undefined)
    return turn
  }
}
