/** Counts how many answers a request had to wait for one after another; what is under way together counts once. */
export class RoundTrips {
  #answered = 0
  #awaited = 0

  /** Up to the answer that is waited for; what is asked in the background afterwards does not count. */
  get sequential(): number {
    return this.#awaited
  }

  /** A request arrived. @returns to be called with its answer */
  arrived(isAwaited: boolean): () => void {
    const place = this.#answered + 1
    return () => {
      this.#answered = Math.max(this.#answered, place)
      if (isAwaited) this.#awaited = place
    }
  }

  reset(): void {
    this.#answered = 0
  }
}
