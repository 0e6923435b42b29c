import type { Sandbox } from 'e2b'
import { abortable } from './abort.ts'
import { connectSandbox } from './connect-sandbox.ts'
import { abortedError } from './errors.ts'
import type { SandboxEvent } from './events.ts'
import { type Flight, type Landing, takeSeat } from './flights.ts'
import { sessionKey, type SandboxHost } from './host.ts'
import { byAge, LOGICAL_ID_KEY, toCandidate } from './metadata.ts'
import { assertCarriesId } from './ownership.ts'
import { endRivals } from './rivals.ts'
import { errorCode, translateError } from './sdk-errors.ts'

type FoundBy = Extract<SandboxEvent, { type: 'sandbox-connected' }>['by']

/** A sandbox to try first. `option`: named by the host, so that nothing but its absence gives way to another one. */
export interface KnownSandbox {
  readonly sandboxId: string
  readonly origin: 'option' | 'attached'
}

export interface FindWatch {
  /** A sandbox is about to be connected to, and so resumed where it is paused; undefined once it is given up. */
  waking(sandboxId: string | undefined): void
  /** It is about to be asked which sandboxes carry the logical id; maybe none does. */
  lookingUp(): void
}

/**
 * Finds the sandbox of a session. Starts of one logical id run one at a time in this process: the first finds or
 * creates, the others connect to what it got.
 */
export class Finder {
  readonly #host: SandboxHost
  readonly #givenUp = new Set<string>()
  #flight: Flight | undefined

  constructor(host: SandboxHost) {
    this.#host = host
  }

  /** Sandboxes that the last `find` met and could not connect to; a new one takes their place. */
  get givenUp(): ReadonlySet<string> {
    return this.#givenUp
  }

  /**
   * @param known what to try first
   * @returns undefined where a sandbox must be created; then, and after a rejection, `land` must be called
   * @throws E2BSandboxError where it is not known whether there is one
   */
  async find(known: KnownSandbox | undefined, signal: AbortSignal, watch: FindWatch): Promise<Sandbox | undefined> {
    this.#givenUp.clear()
    if (known !== undefined) {
      const sandbox = await this.#connectKnown(known, signal, watch)
      if (sandbox !== undefined) return sandbox
    }
    for (;;) {
      const seat = takeSeat(sessionKey(this.#host))
      if (seat.role === 'pilot') {
        this.#flight = seat.flight
        return this.#host.options.idIsShared ? this.#lookUp(signal, watch) : undefined
      }
      const landing = await abortable(seat.landed, signal)
      if (landing.kind === 'failed') throw landing.error
      if (landing.kind === 'abandoned') continue
      const shared = await this.#connect(landing.sandboxId, 'shared-start', signal, watch)
      if (shared !== undefined) return shared
    }
  }

  /** Reports how the start that this instance runs for its logical id ended. Harmless where it runs none. */
  land(landing: Landing): void {
    this.#flight?.land(landing)
    this.#flight = undefined
  }

  async #connectKnown(
    { sandboxId, origin }: KnownSandbox,
    signal: AbortSignal,
    watch: FindWatch,
  ): Promise<Sandbox | undefined> {
    const { options } = this.#host
    if (origin === 'option' && options.idIsShared) {
      const exists = await this.#unlessAborted(assertCarriesId(this.#host, sandboxId, signal), signal)
      if (!exists) return undefined
    }
    return this.#connect(sandboxId, 'sandbox-id', signal, watch, origin === 'option')
  }

  async #lookUp(signal: AbortSignal, watch: FindWatch): Promise<Sandbox | undefined> {
    watch.lookingUp()
    const listing = this.#host.connection().sandboxes.list({ [LOGICAL_ID_KEY]: this.#host.options.id }, signal)
    const candidates = (await abortable(listing, signal)).map(toCandidate).toSorted(byAge)
    for (const { sandboxId } of candidates) {
      const sandbox = await this.#connect(sandboxId, 'logical-id', signal, watch)
      if (sandbox === undefined) continue
      const rivals = candidates.filter((candidate) => candidate.sandboxId !== sandboxId)
      await endRivals(this.#host, rivals, sandboxId)
      return sandbox
    }
    return undefined
  }

  /** Fails closed: only the typed answer that a sandbox is gone, or cannot be resumed, counts as not found. */
  async #connect(
    sandboxId: string,
    by: FoundBy,
    signal: AbortSignal,
    watch: FindWatch,
    isRequired = false,
  ): Promise<Sandbox | undefined> {
    const startedAt = performance.now()
    watch.waking(sandboxId)
    try {
      const sandbox = await connectSandbox(this.#host, sandboxId, signal)
      const durationMs = Math.round(performance.now() - startedAt)
      this.#host.emit({ type: 'sandbox-connected', sandboxId, by, durationMs })
      return sandbox
    } catch (error) {
      if (signal.aborted) throw abortedError('Connecting to a sandbox', signal.reason)
      const failure = this.#host
        .connection()
        .redactor.error(translateError(error, `Connecting to sandbox ${sandboxId}`))
      const isGone = errorCode(error) === 'SANDBOX_GONE'
      if (!isGone && (isRequired || !(await this.#cannotResume(sandboxId, failure, signal)))) throw failure
      watch.waking(undefined)
      this.#givenUp.add(sandboxId)
      if (!isGone) this.#host.emit({ type: 'sandbox-unusable', sandboxId, reason: describe(failure) })
      return undefined
    }
  }

  /**
   * A paused sandbox whose resume is refused as impossible stays so. One that runs is only refused what was asked of it,
   * such as a time to live beyond the plan.
   */
  async #cannotResume(sandboxId: string, failure: unknown, signal: AbortSignal): Promise<boolean> {
    if (errorCode(failure) !== 'BAD_REQUEST') return false
    const info = await this.#unlessAborted(this.#host.connection().sandboxes.info(sandboxId, signal), signal)
    return info.state === 'paused'
  }

  async #unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
    try {
      return await abortable(work, signal)
    } catch (error) {
      throw signal.aborted ? abortedError('Looking up a sandbox', signal.reason) : error
    }
  }
}

const describe = (error: unknown): string => (error instanceof Error ? error.message : String(error))
