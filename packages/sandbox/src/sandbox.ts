import { randomUUID } from 'node:crypto'
import type { RequestContext } from '@mastra/core/request-context'
import {
  type ExecuteCommandOptions,
  MastraSandbox,
  type ProviderStatus,
  type SandboxCloneOptions,
  type SandboxFileInput,
  type SandboxInfo,
  type SandboxNetworking,
  type SandboxStartOptions,
  type SandboxStartResult,
  type WriteFilesOptions,
} from '@mastra/core/workspace'
import { createDefaultMountableTemplate, ensureTemplate, quoteShell, resolveTemplate, tell } from '@warmbox/resolution'
import type { Sandbox, SandboxConnectOpts, SandboxOpts } from 'e2b'
import { abortable } from './abort.ts'
import { type Connection, openConnection } from './connection.ts'
import { type Boot, Creator, type Made, type NewSandbox, type PreparedCreate } from './creator.ts'
import { conditionOf, confirmFailure, unlessGone } from './diagnose.ts'
import { abortedError, E2BSandboxError } from './errors.ts'
import type { E2BSandboxEvent } from './events.ts'
import { assertFiles, writeSandboxFiles } from './files.ts'
import { Finder } from './finder.ts'
import type { SandboxHost } from './host.ts'
import { defaultInstructions } from './instructions.ts'
import { LOGICAL_ID_KEY } from './metadata.ts'
import type { E2BSandboxOptions, ResolvedOptions } from './options.ts'
import { assertPort, portUrl } from './ports.ts'
import type { E2BCommandResult } from './process-handle.ts'
import { E2BProcessManager } from './process-manager.ts'
import { requestedResources } from './requested-resources.ts'
import { resolveOptions } from './resolve-options.ts'
import { errorCode, translateError } from './sdk-errors.ts'
import { connectSdkSandbox, createSdkSandbox } from './sdk.ts'

const inspectKey = Symbol.for('nodejs.util.inspect.custom')

/**
 * A sandbox on E2B for a Mastra workspace. It finds the sandbox of its logical id, running or paused, or creates one
 * from a template, down to the default template where the wanted one cannot be booted.
 *
 * Constructing it does nothing but check options; `start`, or the first command, connects. `stop` pauses, the next
 * start resumes, `destroy` kills. No printed or JSON form of it holds credentials.
 */
export class E2BSandbox extends MastraSandbox<Sandbox> {
  /** So that `clone` makes one of the same class. */
  declare ['constructor']: typeof E2BSandbox
  readonly id: string
  readonly name: string = 'E2BSandbox'
  readonly provider: string = 'e2b'
  status: ProviderStatus = 'pending'
  /** Processes in the sandbox; each method starts the sandbox where it does not run. */
  declare readonly processes: E2BProcessManager
  /** Public URLs of ports; null while the sandbox does not run here. No request, and nothing is woken. */
  override readonly networking: SandboxNetworking = { getPortUrl: (port) => this.#portUrl(port) }

  /** The SDK's sandbox while this instance is attached to one. */
  protected _sandbox: Sandbox | null = null
  /** The ref that last gave a sandbox, or that `resolveTemplate` answered; a ref that cannot be booted is forgotten. */
  protected _resolvedTemplateId: string | undefined

  readonly #input: Readonly<E2BSandboxOptions>
  readonly #options: ResolvedOptions
  readonly #finder: Finder
  readonly #creator: Creator
  readonly #constructedAt = new Date()
  #openConnection: Connection | undefined
  #sandboxId: string | undefined
  #lastBoot: Boot | undefined
  #starting: AbortController | undefined
  /** A create whose template was resolved while the sandbox was looked for. */
  #prepared: PreparedCreate | undefined
  /** What is left of an aborted start; never rejects. */
  #abandoning: Promise<void> | undefined
  /** The look for a rival of a sandbox just created. Commands wait for it; it never rejects. */
  #converging: Promise<void> | undefined

  /** @throws E2BSandboxError `INVALID_OPTION` */
  constructor(options: E2BSandboxOptions = {}) {
    const resolved = resolveOptions(options, () => `e2b-sandbox-${randomUUID()}`)
    super({ ...options, env: { ...resolved.env }, name: 'E2BSandbox', processes: new E2BProcessManager() })
    this.id = resolved.id
    this.#input = Object.freeze({ ...options })
    this.#options = resolved
    const host: SandboxHost = {
      options: resolved,
      connection: () => this.#connection(),
      createSdkSandbox: (ref, sdkOptions) => this.createSdkSandbox(ref, sdkOptions),
      connectSdkSandbox: (sandboxId, sdkOptions) => this.connectSdkSandbox(sandboxId, sdkOptions),
      emit: (event) => this.#emit(event),
    }
    this.#finder = new Finder(host)
    this.#creator = new Creator(host)
  }

  /**
   * The SDK's sandbox, for what Mastra's interface has no word for.
   * @throws E2BSandboxError `NOT_STARTED`
   */
  get e2b(): Sandbox {
    if (this._sandbox === null) {
      throw new E2BSandboxError({
        code: 'NOT_STARTED',
        message: `Sandbox '${this.id}' is not started`,
        hint: 'Await start() first',
      })
    }
    return this._sandbox
  }

  /** @deprecated Use {@link e2b}. */
  get instance(): Sandbox {
    return this.e2b
  }

  /** E2B's id of the sandbox this instance is, or was last, attached to; undefined before the first start. */
  get sandboxId(): string | undefined {
    return this.#sandboxId
  }

  /** How the sandbox was booted; undefined where this instance has created none. */
  get lastBoot(): Boot | undefined {
    return this.#lastBoot
  }

  /** @deprecated Use `status === 'running'`. */
  async isReady(): Promise<boolean> {
    return this.status === 'running' && this._sandbox !== null
  }

  // Acquisition, as the base class orchestrates it

  /** Wraps the base class's start with an end that `stop` and `destroy` can bring about. */
  override async _start(options?: SandboxStartOptions): Promise<SandboxStartResult | void> {
    const callerSignal = options?.abortSignal
    if (callerSignal?.aborted) throw abortedError('Starting the sandbox', callerSignal.reason)
    if (this.status === 'running') return super._start(options)
    if (this.#starting !== undefined) {
      const shared = super._start()
      return callerSignal === undefined
        ? shared
        : this.#explained('Starting the sandbox', () => abortable(shared, callerSignal))
    }
    const starting = new AbortController()
    this.#starting = starting
    const signal = callerSignal === undefined ? starting.signal : AbortSignal.any([callerSignal, starting.signal])
    try {
      return await super._start({ ...options, abortSignal: signal })
    } catch (error) {
      if (signal.aborted) {
        this.#abandoning = this.#abandonStart()
        throw abortedError('Starting the sandbox', signal.reason)
      }
      const failure = this.#redacted(error)
      this.#finder.land({ kind: 'failed', error: failure })
      throw failure
    } finally {
      this.#starting = undefined
    }
  }

  protected override async find(options?: SandboxStartOptions): Promise<Sandbox | undefined> {
    const signal = signalOf(options)
    let prepared: PreparedCreate | undefined
    let found: Sandbox | undefined
    try {
      found = await this.#finder.find(this.#sandboxId ?? this.#options.sandboxId, signal, {
        waking: (sandboxId) => {
          this.#sandboxId = sandboxId
        },
        lookingUp: () => {
          if (this.#options.overlapLookup && this.#usesLadder()) prepared = this.#creator.prepare(signal)
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

  protected override connect(existing: Sandbox): Promise<void> {
    this.#attach(existing)
    this.#finder.land({ kind: 'sandbox', sandboxId: existing.sandboxId })
    return Promise.resolve()
  }

  protected override async create(options?: SandboxStartOptions): Promise<void> {
    const { boot, made } = await this.#createNew(signalOf(options))
    this.#lastBoot = boot
    this._resolvedTemplateId = boot.ref
    this.#attach(made.sandbox)
    this.#finder.land({ kind: 'sandbox', sandboxId: made.sandbox.sandboxId })
    if (this.#options.idIsShared) this.#converging = this.#converge(made)
  }

  // Extension points

  /** Creates every sandbox. Override it to create one of another SDK class; the options are complete. */
  protected createSdkSandbox(templateId: string, options: SandboxOpts): Promise<Sandbox> {
    return createSdkSandbox(templateId, options)
  }

  /** Connects to every sandbox. Override it together with {@link createSdkSandbox}. */
  protected connectSdkSandbox(sandboxId: string, options: SandboxConnectOpts): Promise<Sandbox> {
    return connectSdkSandbox(sandboxId, options)
  }

  /**
   * The ref to create from: the whole resolution of the configured template, builds included. Overridden, its answer is
   * what sandboxes are created from, and {@link buildDefaultTemplate} is called once where it cannot be booted.
   */
  protected async resolveTemplate(): Promise<string> {
    this._resolvedTemplateId ??= (
      await resolveTemplate(this.#options.template, {
        api: this.#connection().templates,
        signal: this.#starting?.signal,
        onEvent: (event) => this.#emit(event),
        buildTimeoutMs: this.#options.buildTimeoutMs,
        strictTemplate: this.#options.strictTemplate,
        waitUntil: this.#options.waitUntil,
        lease: this.#options.lease,
      })
    ).ref
    return this._resolvedTemplateId
  }

  /** Builds the default template, at the size the configured one asks for, whether or not it exists; answers its ref. */
  protected async buildDefaultTemplate(): Promise<string> {
    const { id, template, resources } = createDefaultMountableTemplate(requestedResources(this.#options.template))
    const { ref } = await ensureTemplate(
      { ref: `${id}:default`, template, buildResources: resources },
      {
        api: this.#connection().templates,
        force: true,
        signal: this.#starting?.signal,
        onEvent: (event) => this.#emit(event),
        buildTimeoutMs: this.#options.buildTimeoutMs,
        lease: this.#options.lease,
      },
    )
    return ref
  }

  // End of life

  override async _stop(): Promise<void> {
    this.#abortStart('stop')
    await super._stop()
  }

  /**
   * Pauses the sandbox. A start in flight is aborted. Not started here, the sandbox of the `sandboxId` or `id` option is
   * looked up and paused. A sandbox that is gone counts as stopped.
   */
  override async stop(): Promise<void> {
    await this.#endStart('stop')
    for (const sandboxId of await this.#ownSandboxes()) {
      await unlessGone(() => this.#connection().sandboxes.pause(sandboxId))
      this.#emit({ type: 'sandbox-stopped', sandboxId })
    }
    this._sandbox = null
    if (this.status !== 'stopping') this.status = 'stopped'
  }

  override async _destroy(): Promise<void> {
    this.#abortStart('destroy')
    await super._destroy()
  }

  /**
   * Kills the sandbox, paused or running. A start in flight is aborted, and what it may still create is killed too. Not
   * started here, the sandboxes of the `sandboxId` or `id` option are looked up and killed.
   */
  override async destroy(): Promise<void> {
    await this.#endStart('destroy')
    await this.#abandoning
    for (const sandboxId of await this.#ownSandboxes()) {
      await this.#connection().sandboxes.kill(sandboxId)
      this.#emit({ type: 'sandbox-destroyed', sandboxId })
    }
    this._sandbox = null
    this.#sandboxId = undefined
    this.processes.forgetAll()
    if (this.status !== 'destroying') this.status = 'destroyed'
  }

  // Abilities

  /**
   * Runs a command in a login shell and waits for its end. Arguments are quoted, the command is not. It has no stdin, no
   * time limit unless `timeout` is given, and all its output is kept unless `maxRetainedBytes` is. A non-zero exit, a
   * timeout and an abort are results, told apart by `endedBy`.
   * @throws E2BSandboxError `ABORTED` where the signal fired before the command began
   */
  override async executeCommand(
    command: string,
    args: string[] = [],
    options: ExecuteCommandOptions = {},
  ): Promise<E2BCommandResult> {
    const line = [command, ...args.map(quoteShell)].join(' ')
    const handle = await this.processes.spawn(line, {
      ...options,
      maxRetainedBytes: options.maxRetainedBytes ?? Number.POSITIVE_INFINITY,
      stdinMode: 'ignore',
    })
    try {
      return { ...(await handle.wait()), command: line, args }
    } finally {
      this.processes.release(handle.pid)
    }
  }

  /**
   * Writes files, making their directories. A file with a `mode` has it before its content arrives.
   * @throws E2BSandboxError `INVALID_OPTION` for a path or mode that is none, `ABORTED`; files written before stay
   */
  override async writeFiles(files: SandboxFileInput[], options: WriteFilesOptions = {}): Promise<void> {
    assertFiles(files)
    const { abortSignal } = options
    if (abortSignal?.aborted) throw abortedError('Writing files', abortSignal.reason)
    if (files.length === 0) return
    try {
      await this.retryOnDead(() => writeSandboxFiles(this.e2b, files, abortSignal), { repeatable: true })
    } catch (error) {
      throw abortSignal?.aborted ? abortedError('Writing files', abortSignal.reason) : error
    }
  }

  /**
   * What is known of the sandbox, asked of E2B where one is known. Nothing is started or woken by it.
   */
  override async getInfo(): Promise<SandboxInfo> {
    const known: SandboxInfo = {
      id: this.id,
      name: this.name,
      provider: this.provider,
      status: this.status,
      createdAt: this.#constructedAt,
      metadata: { ...this.#options.metadata, sandboxId: this.#sandboxId, template: this.#lastBoot?.ref },
    }
    const sandboxId = this.#sandboxId
    if (sandboxId === undefined) return known
    const info = await unlessGone(() => this.#connection().sandboxes.info(sandboxId))
    if (info === undefined) return known
    return {
      ...known,
      createdAt: info.startedAt,
      ...(info.state === 'running' ? { timeoutAt: info.endAt } : {}),
      resources: { cpuCores: info.cpuCount, memoryMB: info.memoryMB },
      metadata: { ...info.metadata, ...known.metadata, state: info.state, templateId: info.templateId },
    }
  }

  override getInstructions(options: { requestContext?: RequestContext } = {}): string {
    const { instructions } = this.#options
    const text = defaultInstructions(this.workingDirectory)
    if (instructions === undefined) return text
    return typeof instructions === 'string' ? instructions : instructions({ defaultInstructions: text, ...options })
  }

  /**
   * A sibling with the same configuration and its own identity. `sandboxId` is not inherited, `env` is added to that of
   * this one, `idleTimeoutMinutes` becomes the timeout. No I/O.
   */
  clone(overrides: SandboxCloneOptions = {}): E2BSandbox {
    const { id: _id, sandboxId: _sandboxId, ...inherited } = this.#input
    const { id, sandboxId, env, workingDirectory, idleTimeoutMinutes } = overrides
    return new this.constructor({
      ...inherited,
      env: { ...inherited.env, ...env },
      ...(id === undefined ? {} : { id }),
      ...(sandboxId === undefined ? {} : { sandboxId }),
      ...(workingDirectory === undefined ? {} : { workingDirectory }),
      ...(idleTimeoutMinutes === undefined ? {} : { timeout: Math.round(idleTimeoutMinutes * 60_000) }),
    })
  }

  /**
   * Runs `fn` with the sandbox started. Where the SDK says that the sandbox was not there when `fn` began its work, and
   * E2B confirms that it is gone or paused, the sandbox is started again and `fn` runs once more. Nothing that had begun
   * is repeated, and no text a command prints has a say in it.
   * @param options `repeatable`: `fn` may run again although it may have done its work, as reading or writing a file
   * may; then a connection lost to a sandbox that is gone or paused is reason enough. Default false.
   * @throws E2BSandboxError for whatever else the SDK throws
   */
  async retryOnDead<T>(fn: () => Promise<T>, options: { repeatable?: boolean } = {}): Promise<T> {
    await this.ensureRunning()
    await this.#converging
    const { sandboxId } = this.e2b
    try {
      return await fn()
    } catch (error) {
      const failure = await this.explain(error, 'Reaching the sandbox', sandboxId)
      const mayRepeat = options.repeatable === true || errorCode(error) === 'SANDBOX_GONE'
      // A start in flight waits for this call, which the start hook made: it could not end.
      const isConfirmed = errorCode(failure) === 'SANDBOX_GONE' && this.#starting === undefined
      if (!mayRepeat || !isConfirmed) throw failure
    }
    await this.#startAgain(sandboxId)
    return this.#explained('Reaching the sandbox', fn)
  }

  /**
   * The typed form of an error of the SDK. Whether the sandbox is gone is asked of E2B, since the SDK reports a throttled
   * request in the same way.
   * @internal
   */
  explain(error: unknown, operation: string, sandboxId: string): Promise<Error> {
    const failure = this.#redacted(translateError(error, operation))
    return confirmFailure(this.#connection().sandboxes, failure, operation, sandboxId)
  }

  /** Identity and state; no options, no credentials. */
  toJSON(): { id: string; name: string; provider: string; status: ProviderStatus; sandboxId: string | undefined } {
    return { id: this.id, name: this.name, provider: this.provider, status: this.status, sandboxId: this.#sandboxId }
  }

  [inspectKey](): object {
    return { [this.constructor.name]: this.toJSON() }
  }

  // Inner workings

  #connection(): Connection {
    if (this.#openConnection === undefined) {
      this.#openConnection = openConnection(this.#input)
      if (this.#input.accessToken !== undefined) {
        this.#emit({
          type: 'warning',
          code: 'ACCESS_TOKEN_IGNORED',
          message: 'accessToken is not used beside an API key; remove it',
        })
      }
    }
    return this.#openConnection
  }

  /** False where a subclass resolves templates in its own way. */
  #usesLadder(): boolean {
    return this.resolveTemplate === E2BSandbox.prototype.resolveTemplate
  }

  #createNew(signal: AbortSignal): Promise<NewSandbox> {
    const prepared = this.#prepared
    this.#prepared = undefined
    if (this.#usesLadder()) return (prepared ?? this.#creator.prepare(signal)).go()
    return this.#creator.createResolved(
      {
        resolve: () => this.resolveTemplate(),
        buildDefault: () => {
          this._resolvedTemplateId = undefined
          return this.buildDefaultTemplate()
        },
      },
      signal,
    )
  }

  #attach(sandbox: Sandbox): void {
    if (this._sandbox?.sandboxId !== sandbox.sandboxId) this.processes.forgetAll()
    this._sandbox = sandbox
    this.#sandboxId = sandbox.sandboxId
  }

  async #converge(made: Made): Promise<void> {
    try {
      const older = await this.#creator.converge(made, new AbortController().signal)
      if (older === undefined) return
      this.#attach(older)
      this.#lastBoot = undefined
    } catch (error) {
      this.#emit({
        type: 'warning',
        code: 'SANDBOX_RIVALS_UNKNOWN',
        message: `It could not be checked whether '${this.id}' has other sandboxes: ${String(this.#redacted(error))}`,
      })
    } finally {
      this.#converging = undefined
    }
  }

  /** Others that wait for this start may begin their own once nothing of it can arrive any more. */
  async #abandonStart(): Promise<void> {
    await this.#creator.settled()
    this.#finder.land({ kind: 'abandoned' })
  }

  #abortStart(by: 'stop' | 'destroy'): void {
    this.#starting?.abort(new E2BSandboxError({ code: 'ABORTED', message: `Starting the sandbox was ended by ${by}` }))
  }

  /** For direct calls of stop and destroy; the base class's wrappers have waited already. */
  async #endStart(by: 'stop' | 'destroy'): Promise<void> {
    this.#abortStart(by)
    await this._startPromise?.catch(() => undefined)
    await this.#converging
  }

  /** The sandbox this instance knows; else, where others can know the logical id, every sandbox that carries it. */
  async #ownSandboxes(): Promise<readonly string[]> {
    const known = this.#sandboxId ?? this.#options.sandboxId
    if (known !== undefined) return [known]
    // A start that failed for want of an API key has left nothing, and nothing could be asked without one.
    const neverConnected = this.#openConnection === undefined && this.status !== 'pending'
    if (!this.#options.idIsShared || neverConnected) return []
    const listed = await this.#connection().sandboxes.list({ [LOGICAL_ID_KEY]: this.id })
    return listed.map(({ sandboxId }) => sandboxId)
  }

  async #startAgain(lostId: string): Promise<void> {
    // Commands that fail together start it again together.
    if (this._sandbox?.sandboxId === lostId && this.status === 'running') {
      const reason = (await conditionOf(this.#connection().sandboxes, lostId)) === 'paused' ? 'paused' : 'gone'
      if (reason === 'gone') this.#sandboxId = undefined
      this._sandbox = null
      this.status = 'stopped'
      this.#emit({ type: 'sandbox-lost', sandboxId: lostId, reason })
    }
    await this.ensureRunning()
    await this.#converging
  }

  async #portUrl(port: number): Promise<string | null> {
    assertPort(port)
    await this.#converging
    return this._sandbox === null ? null : portUrl(this._sandbox, port)
  }

  async #explained<T>(operation: string, fn: () => Promise<T>): Promise<T> {
    try {
      return await fn()
    } catch (error) {
      throw this.#redacted(translateError(error, operation))
    }
  }

  #redacted(error: unknown): Error {
    const redacted = this.#openConnection === undefined ? error : this.#openConnection.redactor.error(error)
    return redacted instanceof Error ? redacted : new Error(String(redacted))
  }

  #emit(event: E2BSandboxEvent): void {
    const { onEvent } = this.#options
    if (onEvent === undefined) return
    tell(onEvent, event, (error) => {
      this.logger.warn('An onEvent listener failed', { error: this.#redacted(error) })
    })
  }
}

const signalOf = (options: SandboxStartOptions | undefined): AbortSignal =>
  options?.abortSignal ?? new AbortController().signal
