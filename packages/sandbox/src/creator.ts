import type { Sandbox, SandboxOpts } from 'e2b'
import { type Attempt, attemptsOf, bootFromSpec, type BootPorts, bootRef, prepareResolution } from '@warmbox/resolution'
import { abortable } from './abort.ts'
import { checkpointRef } from './checkpoint-ref.ts'
import { connectSandbox } from './connect-sandbox.ts'
import { chooseAfterCreate } from './converge.ts'
import { createOnce, killCreated } from './create-once.ts'
import { E2BSandboxError, withAttempts } from './errors.ts'
import type { BootRung } from './events.ts'
import type { SandboxHost } from './host.ts'
import { ATTEMPT_ID_KEY, type Candidate, LOGICAL_ID_KEY, toCandidate } from './metadata.ts'
import { endRivals } from './rivals.ts'
import { errorCode, translateError } from './sdk-errors.ts'

/** How the sandbox was booted when it was last created. */
export interface Boot {
  /** The ref it was created from. */
  readonly ref: string
  /** The rung that gave the ref; absent where a subclass resolved the template itself. */
  readonly rung?: BootRung
  /** Every rung that was tried, in order. */
  readonly attempts: readonly Attempt[]
}

/** A subclass's own way to a template. */
export interface OwnResolution {
  resolve(): Promise<string>
  /** Called once, where what `resolve` answered cannot be booted. */
  buildDefault(): Promise<string>
}

/** A create that is ready to go as far as it can be without changing anything. */
export interface PreparedCreate {
  /** Creates the sandbox, down the ladder where a template cannot be booted. */
  go(): Promise<NewSandbox>
  /** Forgets it: a sandbox was found. Never rejects. */
  cancel(): Promise<void>
}

export interface NewSandbox {
  readonly boot: Boot
  readonly made: Made
}

export interface Made {
  readonly sandbox: Sandbox
  /** True where create failed and the sandbox it had made all the same was found. */
  readonly adopted: boolean
  readonly own: Candidate
}

/** Creates the sandbox of a session, and never leaves one behind that nobody knows of. */
export class Creator {
  readonly #host: SandboxHost
  readonly #late = new Set<Promise<void>>()

  constructor(host: SandboxHost) {
    this.#host = host
  }

  /**
   * Begins to resolve the configured template, so that it is known which ref to boot once it is known that a sandbox
   * must be created. Nothing is created, built or reported before `go`.
   */
  prepare(signal: AbortSignal): PreparedCreate {
    const { options } = this.#host
    const startedAt = performance.now()
    const cancelled = new AbortController()
    const { buildTimeoutMs, clock, lease, strictTemplate, waitUntil } = options
    const api = this.#host.connection().templates
    const preparation = prepareResolution(options.template, {
      api,
      strictTemplate,
      clock,
      signal: AbortSignal.any([signal, cancelled.signal]),
    })
    // A failure before `go` is told by `go`, or of no interest after `cancel`.
    preparation.catch(() => undefined)
    return {
      go: async () => {
        try {
          const { value, ref, rung, attempts } = await bootFromSpec(await preparation, {
            ...this.#ports(),
            api,
            signal,
            onEvent: (event) => this.#host.emit(event),
            buildTimeoutMs,
            waitUntil,
            lease,
            clock,
          })
          this.#report(value, ref, startedAt, rung)
          return { boot: Object.freeze({ ref, rung, attempts }), made: value }
        } catch (error) {
          throw withAttempts(error, attemptsOf(error))
        }
      },
      cancel: async () => {
        cancelled.abort()
        await preparation.then(
          () => undefined,
          () => undefined,
        )
      },
    }
  }

  /**
   * Creates from the checkpoint, or from the seed where there is none yet.
   * @returns undefined where none of the two is configured or exists
   */
  async createFromCheckpoint(signal: AbortSignal): Promise<NewSandbox | undefined> {
    const { checkpointName, seedCheckpointName } = this.#host.options
    const startedAt = performance.now()
    const rungs: readonly (readonly [BootRung, string | undefined])[] = [
      ['checkpoint', checkpointName],
      ['seed-checkpoint', seedCheckpointName],
    ]
    for (const [rung, name] of rungs) {
      if (name === undefined) continue
      const ref = checkpointRef(name)
      try {
        const made = await this.#createFrom(ref, signal)
        this.#report(made, ref, startedAt, rung)
        return { boot: Object.freeze({ ref, rung, attempts: Object.freeze([]) }), made }
      } catch (error) {
        if (errorCode(error) !== 'TEMPLATE_UNUSABLE') throw error
        this.#host.emit({ type: 'checkpoint-missing', name, ref })
      }
    }
    return undefined
  }

  /** Creates from what a subclass resolves. */
  async createResolved(own: OwnResolution, signal: AbortSignal): Promise<NewSandbox> {
    const startedAt = performance.now()
    let ref = await abortable(own.resolve(), signal)
    let made: Made
    try {
      made = await this.#createFrom(ref, signal)
    } catch (error) {
      if (errorCode(error) !== 'TEMPLATE_UNUSABLE') throw error
      ref = await abortable(own.buildDefault(), signal)
      made = await this.#createFromDefault(ref, signal)
    }
    this.#report(made, ref, startedAt)
    return { boot: Object.freeze({ ref, attempts: Object.freeze([]) }), made }
  }

  /**
   * Looks whether another process created a sandbox for the same logical id at the same time. The oldest is kept: a
   * younger one of ours is killed and the older one connected to. Younger ones of others are theirs to kill; the next
   * start that looks the id up does where they died before they could.
   * @param givenUp sandboxes this start could not connect to, which it replaces
   * @returns what is to be used from now on; undefined where ours stays
   */
  async converge(made: Made, givenUp: ReadonlySet<string>, signal: AbortSignal): Promise<Sandbox | undefined> {
    const { own } = made
    const { sandboxes } = this.#host.connection()
    const listed = (await sandboxes.list({ [LOGICAL_ID_KEY]: this.#host.options.id }, signal)).map(toCandidate)
    const replaced = listed.filter(({ sandboxId }) => givenUp.has(sandboxId))
    const { kept, others } = chooseAfterCreate(
      own,
      listed.filter(({ sandboxId }) => !givenUp.has(sandboxId)),
    )
    const isOwn = ({ sandboxId }: Candidate): boolean => sandboxId === own.sandboxId
    for (const { sandboxId } of others.filter((other) => !isOwn(other))) {
      this.#host.emit({ type: 'sandbox-duplicate', sandboxId, keptSandboxId: kept.sandboxId, killed: false })
    }
    const older = isOwn(kept) ? undefined : await connectSandbox(this.#host, kept.sandboxId, signal)
    await endRivals(this.#host, older === undefined ? replaced : [...replaced, own], kept.sandboxId)
    return older
  }

  /** Ends when nothing that an aborted start left behind can arrive any more. Never rejects. */
  async settled(): Promise<void> {
    await Promise.all(this.#late)
  }

  async #createFromDefault(ref: string, signal: AbortSignal): Promise<Made> {
    try {
      return await this.#createFrom(ref, signal)
    } catch (error) {
      if (errorCode(error) !== 'TEMPLATE_UNUSABLE') throw error
      throw new E2BSandboxError({
        code: 'TEMPLATE_MISSING',
        message: `Neither the template nor the default template '${ref}' can be booted`,
        cause: error,
      })
    }
  }

  #createFrom(ref: string, signal: AbortSignal): Promise<Made> {
    return bootRef(ref, {
      ...this.#ports(),
      api: this.#host.connection().templates,
      signal,
      clock: this.#host.options.clock,
      onEvent: (event) => this.#host.emit(event),
    })
  }

  /** One create, and how to find and discard what came of it. Its errors are typed and hold no API key. */
  #ports(): BootPorts<Made> {
    const { clock } = this.#host.options
    const { redactor, sandboxes, sdk } = this.#host.connection()
    const findCreated = (attemptId: string) => async (signal: AbortSignal) => {
      const [created] = await sandboxes.list({ [ATTEMPT_ID_KEY]: attemptId }, signal)
      return created?.sandboxId
    }
    const discarding = (attemptId: string, ref: string) => ({
      findCreated: findCreated(attemptId),
      kill: (sandboxId: string) => sandboxes.kill(sandboxId),
      warn: (message: string) => this.#host.emit({ type: 'warning', code: 'SANDBOX_MAY_REMAIN', message, ref }),
    })
    const make = (attemptId: string, sandbox: Sandbox, adopted: boolean): Made => {
      const own = { sandboxId: sandbox.sandboxId, metadata: this.#metadata(attemptId), startedAt: new Date() }
      return { sandbox, adopted, own }
    }
    return {
      boot: async (ref, signal, { attemptId }) => {
        const options = { ...sdk, ...this.#createOptions(), metadata: this.#metadata(attemptId) }
        const attempt = {
          ...discarding(attemptId, ref),
          create: () => this.#host.createSdkSandbox(ref, options),
          later: (work: Promise<void>) => this.#track(work),
        }
        try {
          return make(attemptId, await createOnce(ref, attempt, signal, clock), false)
        } catch (error) {
          throw redactor.error(error)
        }
      },
      adopt: async (attemptId, signal) => {
        const sandboxId = await findCreated(attemptId)(signal)
        if (sandboxId === undefined) return undefined
        try {
          return make(attemptId, await connectSandbox(this.#host, sandboxId, signal), true)
        } catch (error) {
          throw redactor.error(translateError(error, `Connecting to sandbox ${sandboxId}`))
        }
      },
      abandon: (attemptId, ref) => this.#track(killCreated(discarding(attemptId, ref), 'overdue', clock)),
    }
  }

  #metadata(attemptId: string): Record<string, string> {
    const { id, metadata } = this.#host.options
    return { ...metadata, [LOGICAL_ID_KEY]: id, [ATTEMPT_ID_KEY]: attemptId }
  }

  /** Everything the platform has a default for is stated, since its defaults have changed before. */
  #createOptions(): Omit<SandboxOpts, 'metadata'> {
    const { timeoutMs, lifecycle, env, network } = this.#host.options
    return { timeoutMs, lifecycle, envs: { ...env }, ...(network === undefined ? {} : { network }) }
  }

  #report({ sandbox, adopted }: Made, ref: string, startedAt: number, rung?: BootRung): void {
    this.#host.emit({
      type: 'sandbox-created',
      sandboxId: sandbox.sandboxId,
      ref,
      adopted,
      durationMs: Math.round(performance.now() - startedAt),
      ...(rung === undefined ? {} : { rung }),
    })
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#late.delete(tracked))
    this.#late.add(tracked)
  }
}
