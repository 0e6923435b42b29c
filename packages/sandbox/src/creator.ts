import { randomUUID } from 'node:crypto'
import type { Sandbox, SandboxOpts } from 'e2b'
import { type Attempt, bootFromSpec, type Rung, systemClock, TemplateUnusableError } from '@warmbox/resolution'
import { abortable } from './abort.ts'
import { chooseAfterCreate } from './converge.ts'
import { type CreateAttempt, type Created, createOnce } from './create-once.ts'
import { E2BSandboxError } from './errors.ts'
import type { E2BSandboxEvent } from './events.ts'
import { gateChanges } from './gated-templates.ts'
import { connectTo, type SandboxHost } from './host.ts'
import { ATTEMPT_ID_KEY, type Candidate, createAttemptId, LOGICAL_ID_KEY } from './metadata.ts'
import { errorCode } from './sdk-errors.ts'
import { exonerate, suspect } from './suspects.ts'

/** How the sandbox was booted when it was last created. */
export interface Boot {
  /** The ref it was created from. */
  readonly ref: string
  /** The rung that gave the ref; absent where a subclass resolved the template itself. */
  readonly rung?: Rung
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

/** Opens once. */
class Gate {
  readonly opened: Promise<void>
  #resolve: () => void = () => undefined

  constructor() {
    this.opened = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  open(): void {
    this.#resolve()
  }
}

export interface Made extends Created {
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
    const emit = (event: E2BSandboxEvent): void => this.#host.emit(event)
    const startedAt = performance.now()
    const cancelled = new AbortController()
    const gate = new Gate()
    const held: E2BSandboxEvent[] = []
    let isWanted = false
    const boot = bootFromSpec(options.template, {
      api: gateChanges(this.#host.connection().templates, gate.opened),
      boot: async (ref, bootSignal) => {
        await abortable(gate.opened, bootSignal)
        return this.#createFrom(ref, bootSignal)
      },
      signal: AbortSignal.any([signal, cancelled.signal]),
      onEvent: (event) => {
        if (isWanted) emit(event)
        else held.push(event)
      },
      buildTimeoutMs: options.buildTimeoutMs,
      strictTemplate: options.strictTemplate,
      waitUntil: options.waitUntil,
    })
    // A failure before `go` is told by `go`, or of no interest after `cancel`.
    boot.catch(() => undefined)
    return {
      go: async () => {
        isWanted = true
        for (const event of held.splice(0)) emit(event)
        gate.open()
        const { value, ref, rung, attempts } = await boot
        this.#report(value, ref, startedAt, rung)
        return { boot: Object.freeze({ ref, rung, attempts }), made: value }
      },
      cancel: async () => {
        cancelled.abort()
        await boot.then(
          () => undefined,
          () => undefined,
        )
        // Only now, so that a build which others wait for too goes on, and one that nobody wants does not begin.
        gate.open()
      },
    }
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
   * younger one of ours is killed and the older one connected to.
   * @returns what is to be used from now on; undefined where ours stays
   */
  async converge(made: Made, signal: AbortSignal): Promise<Sandbox | undefined> {
    const { options } = this.#host
    const { sandboxes } = this.#host.connection()
    const listed = await sandboxes.list({ [LOGICAL_ID_KEY]: options.id }, signal)
    const { kept, others } = chooseAfterCreate(made.own, listed)
    for (const sandboxId of others) {
      this.#host.emit({
        type: 'sandbox-duplicate',
        sandboxId,
        keptSandboxId: kept,
        killed: sandboxId === made.own.sandboxId,
      })
    }
    if (kept === made.own.sandboxId) return undefined
    const older = await connectTo(this.#host, kept, signal)
    await sandboxes.kill(made.own.sandboxId)
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

  async #createFrom(ref: string, signal: AbortSignal): Promise<Made> {
    const { sdk, sandboxes, templates } = this.#host.connection()
    const attemptId = createAttemptId(Date.now(), randomUUID())
    const metadata = {
      ...this.#host.options.metadata,
      [LOGICAL_ID_KEY]: this.#host.options.id,
      [ATTEMPT_ID_KEY]: attemptId,
    }
    const attempt: CreateAttempt = {
      create: () => this.#host.createSdkSandbox(ref, { ...sdk, ...this.#createOptions(), metadata }),
      findCreated: (lookupSignal) => sandboxes.list({ [ATTEMPT_ID_KEY]: attemptId }, lookupSignal),
      connect: (sandboxId, connectSignal) => connectTo(this.#host, sandboxId, connectSignal),
      kill: (sandboxId) => sandboxes.kill(sandboxId),
      later: (work) => this.#track(work),
      warn: (message) => this.#host.emit({ type: 'warning', code: 'SANDBOX_MAY_REMAIN', message, ref }),
    }
    const suspectKey = `${templates.scope}\n${ref}`
    try {
      const created = await createOnce(ref, attempt, signal, systemClock)
      exonerate(suspectKey)
      const own = { sandboxId: created.sandbox.sandboxId, metadata, startedAt: new Date() }
      return { ...created, own }
    } catch (error) {
      if (errorCode(error) === 'PLATFORM' && suspect(suspectKey)) throw new TemplateUnusableError(ref, { cause: error })
      throw error
    }
  }

  /** Everything the platform has a default for is stated, since its defaults have changed before. */
  #createOptions(): Omit<SandboxOpts, 'metadata'> {
    const { timeoutMs, lifecycle, env, network } = this.#host.options
    return { timeoutMs, lifecycle, envs: { ...env }, ...(network === undefined ? {} : { network }) }
  }

  #report({ sandbox, adopted }: Made, ref: string, startedAt: number, rung?: Rung): void {
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
