/** Turns processor time into the share of the processors that was busy since the last question. */
export class ProcessorLoad {
  #last: { readonly at: number; readonly cpuTimeMs: number }
  readonly #now: () => number

  /** `now` is in milliseconds of the time that processes run by, whatever clock the platform has. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
    this.#last = { at: now(), cpuTimeMs: 0 }
  }

  /** Percent of all processors, 0 to 100, with one digit. The first question counts from the beginning. */
  since(cpuTimeMs: number, processors: number): number {
    const at = this.#now()
    const elapsed = at - this.#last.at
    const used = cpuTimeMs - this.#last.cpuTimeMs
    this.#last = { at, cpuTimeMs }
    if (elapsed <= 0) return 0
    return Math.round(Math.min(100, Math.max(0, (used / elapsed / processors) * 100)) * 10) / 10
  }
}
