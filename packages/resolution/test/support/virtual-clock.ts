import type { Clock } from '@warmbox/resolution'

interface Sleeper {
  readonly wakeAt: number
  readonly wake: () => void
}

/** Time that passes as soon as nothing else is going on: a sleeper wakes once all ready work is done. */
export class VirtualClock implements Clock {
  #now = Date.UTC(2026, 0, 1)
  #sleepers: Sleeper[] = []
  #ticking = false

  /** Sleeps that are waited for now. */
  get sleeping(): number {
    return this.#sleepers.length
  }

  now(): number {
    return this.#now
  }

  advance(ms: number): void {
    this.#now += ms
  }

  sleep(delayMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason)
        return
      }
      const leave = (): void => {
        this.#sleepers = this.#sleepers.filter((each) => each !== sleeper)
        signal.removeEventListener('abort', onAbort)
      }
      const onAbort = (): void => {
        leave()
        reject(signal.reason)
      }
      const sleeper: Sleeper = {
        wakeAt: this.#now + delayMs,
        wake: () => {
          leave()
          resolve()
        },
      }
      this.#sleepers.push(sleeper)
      signal.addEventListener('abort', onAbort, { once: true })
      this.#tick()
    })
  }

  #tick(): void {
    if (this.#ticking) return
    this.#ticking = true
    setImmediate(() => {
      this.#ticking = false
      const next = this.#sleepers.toSorted((a, b) => a.wakeAt - b.wakeAt)[0]
      if (next === undefined) return
      this.#now = Math.max(this.#now, next.wakeAt)
      next.wake()
      if (this.#sleepers.length > 0) this.#tick()
    })
  }
}
