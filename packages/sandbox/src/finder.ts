import type { Sandbox } from 'e2b'
import { abortable } from './abort.ts'
import { choose } from './converge.ts'
import { abortedError } from './errors.ts'
import type { SandboxEvent } from './events.ts'
import { type Flight, type Landing, takeSeat } from './flights.ts'
import { connectTo, type SandboxHost } from './host.ts'
import { byAge, LOGICAL_ID_KEY, toCandidate } from './metadata.ts'
import { errorCode, translateError } from './sdk-errors.ts'

type FoundBy = Extract<SandboxEvent, { type: 'sandbox-connected' }>['by']

export interface FindWatch {
  /** A sandbox is about to be connected to, and so resumed where it is paused; undefined once it is known to be gone. */
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
  #flight: Flight | undefined

  constructor(host: SandboxHost) {
    this.#host = host
  }

  /**
   * @param knownId E2B's id of the sandbox, where it is known; E2B's answer that it is gone leads on to the logical id
   * @param watch told what is about to happen
   * @returns undefined where the caller has to create one, and then to `land` the outcome
   */
  async find(knownId: string | undefined, signal: AbortSignal, watch: FindWatch): Promise<Sandbox | undefined> {
    if (knownId !== undefined) {
      const known = await this.#connect(knownId, 'sandbox-id', signal, watch)
      if (known !== undefined) return known
    }
    for (;;) {
      const seat = takeSeat(this.#key())
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

  async #lookUp(signal: AbortSignal, watch: FindWatch): Promise<Sandbox | undefined> {
    const { options } = this.#host
    watch.lookingUp()
    const listing = this.#host.connection().sandboxes.list({ [LOGICAL_ID_KEY]: options.id }, signal)
    const listed = await abortable(listing, signal)
    const candidates = listed.map(toCandidate).toSorted(byAge)
    const choice = choose(candidates)
    for (const sandboxId of choice?.others ?? []) {
      this.#host.emit({ type: 'sandbox-duplicate', sandboxId, keptSandboxId: choice?.kept ?? '', killed: false })
    }
    for (const { sandboxId } of candidates) {
      const sandbox = await this.#connect(sandboxId, 'logical-id', signal, watch)
      if (sandbox !== undefined) return sandbox
    }
    return undefined
  }

  /** Fails closed: only the typed answer that a sandbox is gone counts as not found. */
  async #connect(sandboxId: string, by: FoundBy, signal: AbortSignal, watch: FindWatch): Promise<Sandbox | undefined> {
    const startedAt = performance.now()
    watch.waking(sandboxId)
    try {
      const sandbox = await abortable(connectTo(this.#host, sandboxId, signal), signal)
      const durationMs = Math.round(performance.now() - startedAt)
      this.#host.emit({ type: 'sandbox-connected', sandboxId, by, durationMs })
      return sandbox
    } catch (error) {
      if (signal.aborted) throw abortedError('Connecting to a sandbox', signal.reason)
      if (errorCode(error) === 'SANDBOX_GONE') {
        watch.waking(undefined)
        return undefined
      }
      throw translateError(error, `Connecting to sandbox ${sandboxId}`)
    }
  }

  #key(): string {
    return `${this.#host.connection().templates.scope}\n${this.#host.options.id}`
  }
}
