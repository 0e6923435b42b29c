import type { Clock } from '../clock.ts'

/**
 * Hands items from a producer to one consumer, in order. The producer asks {@link Mailbox.room} before it goes on;
 * that is what holds a program back whose output nobody reads.
 */
export class Mailbox<T> {
  readonly #items: { readonly item: T; readonly weight: number }[] = []
  readonly #capacity: number
  #weight = 0
  #closed = false
  #failure: { readonly error: unknown } | undefined
  #wakeConsumer: (() => void) | undefined
  #wakeProducers: (() => void)[] = []

  /** Beyond `capacity`, the sum of the weights, there is no room. One item always fits, however heavy. */
  constructor(capacity: number) {
    this.#capacity = capacity
  }

  /** Adds an item whether or not there is room. After {@link close} or {@link fail} it is dropped. */
  put(item: T, weight: number): void {
    if (this.#closed) return
    this.#items.push({ item, weight })
    this.#weight += weight
    this.#wakeConsumer?.()
  }

  /** Whether another item should wait. */
  get full(): boolean {
    return !this.#closed && this.#weight >= this.#capacity
  }

  /** Resolves as soon as the mailbox is not full, at once when it is not. */
  async room(): Promise<void> {
    while (this.full) {
      await new Promise<void>((resolve) => {
        this.#wakeProducers.push(resolve)
      })
    }
  }

  /** Nothing more comes. What lies here is still delivered. */
  close(): void {
    this.#closed = true
    this.#wake()
  }

  /** Nothing more comes, for this reason. What lies here is delivered first. */
  fail(error: unknown): void {
    this.#failure ??= { error }
    this.close()
  }

  /** The consumer has gone: drops what lies here and lets producers pass. */
  abandon(): void {
    this.#items.length = 0
    this.#weight = 0
    this.close()
  }

  /** Everything that lies here, without waiting. Throws what the mailbox failed with, once it is empty. */
  takeAll(): T[] {
    if (this.#failure !== undefined && this.#items.length === 0) throw this.#failure.error
    this.#weight = 0
    const taken = this.#items.splice(0).map(({ item }) => item)
    this.#releaseProducers()
    return taken
  }

  /**
   * Every item until the mailbox is closed, `undefined` each time none came for `quietMs`.
   * Throws the reason of `signal` once that is aborted, and what the mailbox failed with.
   */
  async *follow(options: {
    readonly signal: AbortSignal
    readonly quietMs: number
    readonly clock: Clock
  }): AsyncGenerator<T | undefined, void, void> {
    for (;;) {
      options.signal.throwIfAborted()
      const next = this.#items.shift()
      if (next !== undefined) {
        this.#weight -= next.weight
        if (!this.full) this.#releaseProducers()
        yield next.item
      } else if (this.#failure !== undefined) {
        throw this.#failure.error
      } else if (this.#closed) {
        return
      } else if ((await this.#news(options)) === 'quiet') {
        yield undefined
      }
    }
  }

  #news(options: {
    readonly signal: AbortSignal
    readonly quietMs: number
    readonly clock: Clock
  }): Promise<'news' | 'quiet'> {
    return new Promise((resolve) => {
      const settle = (outcome: 'news' | 'quiet') => {
        cancelTimer()
        options.signal.removeEventListener('abort', wake)
        this.#wakeConsumer = undefined
        resolve(outcome)
      }
      const wake = () => settle('news')
      const cancelTimer = options.clock.schedule(() => settle('quiet'), options.quietMs)
      options.signal.addEventListener('abort', wake, { once: true })
      this.#wakeConsumer = wake
    })
  }

  #wake(): void {
    this.#wakeConsumer?.()
    this.#releaseProducers()
  }

  #releaseProducers(): void {
    const waiting = this.#wakeProducers
    this.#wakeProducers = []
    for (const resume of waiting) resume()
  }
}
