import type { Sandbox } from 'e2b'
import { CreateBreaker } from './create-breaker.ts'
import { Creator, type Made, type NewSandbox, type OwnResolution, type PreparedCreate } from './creator.ts'
import { Finder, type FindWatch, type KnownSandbox } from './finder.ts'
import { sessionKey, type SandboxHost } from './host.ts'

export interface FindRequest extends Pick<FindWatch, 'waking'> {
  readonly known: KnownSandbox | undefined
  readonly signal: AbortSignal
  /** Whether the configured template decides what is created, so that it may be resolved ahead. */
  readonly mayPrepare: boolean
}

/**
 * The way of a session to its sandbox: found, or created, then checked for rivals. A create is prepared while it is
 * still looked for a sandbox.
 */
export class Acquisition {
  readonly #host: SandboxHost
  readonly #finder: Finder
  readonly #creator: Creator
  readonly #breaker: CreateBreaker
  #prepared: PreparedCreate | undefined
  #converging: Promise<void> | undefined

  constructor(host: SandboxHost) {
    this.#host = host
    this.#finder = new Finder(host)
    this.#creator = new Creator(host)
    this.#breaker = new CreateBreaker(() => sessionKey(host), host.options.clock)
  }

  /**
   * The look for a rival of a sandbox just created. Whoever uses the sandbox waits for it; it never rejects, and is
   * undefined where there is none.
   */
  get converging(): Promise<void> | undefined {
    return this.#converging
  }

  /** @returns undefined where a sandbox must be created */
  async find({ known, signal, waking, mayPrepare }: FindRequest): Promise<Sandbox | undefined> {
    const { checkpointName, overlapLookup, seedCheckpointName } = this.#host.options
    // A checkpoint mostly exists, and then the template was resolved in vain.
    const overlaps = overlapLookup && mayPrepare && checkpointName === undefined && seedCheckpointName === undefined
    let prepared: PreparedCreate | undefined
    let found: Sandbox | undefined
    try {
      found = await this.#finder.find(known, signal, {
        waking,
        lookingUp: () => {
          if (overlaps) prepared = this.#creator.prepare(signal)
        },
      })
    } catch (error) {
      await prepared?.cancel()
      throw error
    }
    if (found === undefined) this.#prepared = prepared
    else await prepared?.cancel()
    return found
  }

  /**
   * Creates from the checkpoint, the seed, or the template.
   * @param own a subclass's way to a template; absent, the ladder decides
   * @throws E2BSandboxError `CREATE_STORM`
   */
  async create(own: OwnResolution | undefined, signal: AbortSignal): Promise<NewSandbox> {
    const prepared = this.#prepared
    this.#prepared = undefined
    try {
      this.#breaker.assertClosed()
    } catch (error) {
      await prepared?.cancel()
      throw error
    }
    const created =
      (await this.#creator.createFromCheckpoint(signal)) ??
      (own === undefined
        ? await (prepared ?? this.#creator.prepare(signal)).go()
        : await this.#creator.createResolved(own, signal))
    this.#breaker.created()
    return created
  }

  /** Reports the sandbox to everyone in this process who waits for the same logical id. */
  landed(sandboxId: string): void {
    this.#finder.land({ kind: 'sandbox', sandboxId })
  }

  failed(error: Error): void {
    this.#finder.land({ kind: 'failed', error })
  }

  /** Others that wait for this start may begin their own once nothing of it can arrive any more. Never rejects. */
  async abandoned(): Promise<void> {
    await this.#creator.settled()
    this.#finder.land({ kind: 'abandoned' })
  }

  /** The sandbox was destroyed on purpose. */
  destroyed(): void {
    this.#breaker.destroyed()
  }

  /**
   * Begins to look whether the sandbox just created has a rival.
   * @param replaced told the older sandbox that is to be used instead
   * @param unknown told why it could not be found out
   */
  converge(made: Made, replaced: (older: Sandbox) => void, unknown: (error: unknown) => void): void {
    if (!this.#host.options.idIsShared) return
    const work = async (): Promise<void> => {
      try {
        const older = await this.#creator.converge(made, this.#finder.givenUp, new AbortController().signal)
        if (older !== undefined) replaced(older)
      } catch (error) {
        unknown(error)
      } finally {
        this.#converging = undefined
      }
    }
    this.#converging = work()
  }
}
