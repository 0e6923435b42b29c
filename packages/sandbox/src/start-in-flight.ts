import { abortedError, E2BSandboxError } from './errors.ts'

/** The start that is under way, and the ways to end it. */
export class StartInFlight {
  #controller: AbortController | undefined
  #hasBegun = false

  get isUnderway(): boolean {
    return this.#controller !== undefined
  }

  /** Whether there ever was one. */
  get hasBegun(): boolean {
    return this.#hasBegun
  }

  /** Fires where the start is ended by `stop` or `destroy`; undefined where none is under way. */
  get signal(): AbortSignal | undefined {
    return this.#controller?.signal
  }

  end(by: 'stop' | 'destroy'): void {
    this.#controller?.abort(
      new E2BSandboxError({ code: 'ABORTED', message: `Starting the sandbox was ended by ${by}` }),
    )
  }

  /**
   * @param onAborted told before the rejection where the start was ended, by `end` or by its caller
   * @throws E2BSandboxError `ABORTED`; what `start` throws otherwise
   */
  async run<T>(
    callerSignal: AbortSignal | undefined,
    start: (signal: AbortSignal) => Promise<T>,
    onAborted: () => void,
  ): Promise<T> {
    const controller = new AbortController()
    this.#controller = controller
    this.#hasBegun = true
    const signal = callerSignal === undefined ? controller.signal : AbortSignal.any([callerSignal, controller.signal])
    try {
      return await start(signal)
    } catch (error) {
      if (!signal.aborted) throw error
      onAborted()
      throw abortedError('Starting the sandbox', signal.reason)
    } finally {
      this.#controller = undefined
    }
  }
}
