import { tell } from '@warmbox/resolution'
import { type Connection, openConnection } from './connection.ts'
import type { E2BSandboxEvent } from './events.ts'
import type { E2BSandboxOptions, ResolvedOptions } from './options.ts'
import { translateError } from './sdk-errors.ts'

/** What all parts of a session share: its options, the one connection it opens when first needed, and who is told. */
export class SessionContext {
  readonly options: ResolvedOptions
  readonly #input: Readonly<E2BSandboxOptions>
  readonly #onListenerFailure: (error: Error) => void
  #connection: Connection | undefined

  /** @param onListenerFailure told what an event listener has thrown */
  constructor(input: Readonly<E2BSandboxOptions>, options: ResolvedOptions, onListenerFailure: (error: Error) => void) {
    this.#input = input
    this.options = options
    this.#onListenerFailure = onListenerFailure
  }

  get isConnected(): boolean {
    return this.#connection !== undefined
  }

  /** @throws E2BSandboxError `MISSING_API_KEY` */
  connection(): Connection {
    if (this.#connection === undefined) {
      this.#connection = openConnection(this.#input)
      if (this.#input.accessToken !== undefined) {
        this.emit({
          type: 'warning',
          code: 'ACCESS_TOKEN_IGNORED',
          message: 'accessToken is not used beside an API key; remove it',
        })
      }
    }
    return this.#connection
  }

  emit(event: E2BSandboxEvent): void {
    const { onEvent } = this.options
    if (onEvent === undefined) return
    tell(onEvent, event, (error) => this.#onListenerFailure(this.redacted(error)))
  }

  warn(code: string, message: string, error: unknown): void {
    this.emit({ type: 'warning', code, message: `${message}: ${String(this.redacted(error))}` })
  }

  /** Without the API key; before a connection is opened nothing can hold it. */
  redacted(error: unknown): Error {
    const redacted = this.#connection === undefined ? error : this.#connection.redactor.error(error)
    return redacted instanceof Error ? redacted : new Error(String(redacted))
  }

  /** The typed form of an error of the SDK, without the API key. */
  typed(error: unknown, operation: string): Error {
    return this.redacted(translateError(error, operation))
  }
}
