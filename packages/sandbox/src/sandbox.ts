import { randomUUID } from 'node:crypto'
import type { RequestContext } from '@mastra/core/request-context'
import {
  type ExecuteCommandOptions,
  MastraSandbox,
  type MountManager,
  type MountResult,
  type ProviderStatus,
  type SandboxCloneOptions,
  type SandboxFileInput,
  type SandboxInfo,
  type SandboxNetworking,
  type SandboxStartOptions,
  type SandboxStartResult,
  type WorkspaceFilesystem,
  type WriteFilesOptions,
} from '@mastra/core/workspace'
import { isWarmboxError } from '@warmbox/resolution'
import type { Sandbox, SandboxConnectOpts, SandboxOpts } from 'e2b'
import { abortable } from './abort.ts'
import { Acquisition } from './acquisition.ts'
import { checkpointRef, checkpointSnapshotName } from './checkpoint-ref.ts'
import { cloneOptions } from './clone-options.ts'
import { assertCommandOptions, commandLine } from './command-options.ts'
import type { Boot, OwnResolution } from './creator.ts'
import { describeSandbox } from './describe-sandbox.ts'
import { Detached } from './detached.ts'
import { type Diagnosis, diagnoseFailure, unlessGone } from './diagnose.ts'
import { EndOfLife } from './end-of-life.ts'
import { abortedError, E2BSandboxError } from './errors.ts'
import { resolveFiles, writeSandboxFiles } from './files.ts'
import type { KnownSandbox } from './finder.ts'
import type { SandboxHost } from './host.ts'
import { defaultInstructions } from './instructions.ts'
import { assertMountable, assertMountPaths, mountDirectory } from './mounts/inputs.ts'
import { SessionMounts } from './mounts/session-mounts.ts'
import { assertKnownNames } from './option-checks.ts'
import type { E2BSandboxOptions, ResolvedOptions } from './options.ts'
import { assertPort, portUrl } from './ports.ts'
import type { E2BCommandResult } from './process-result.ts'
import { E2BProcessManager } from './process-manager.ts'
import { withRecovery } from './recovery.ts'
import { resolveOptions } from './resolve-options.ts'
import { isSdkFailure } from './sdk-origin.ts'
import { connectSdkSandbox, createSdkSandbox, runScript, writeRootFile } from './sdk.ts'
import { SessionContext } from './session-context.ts'
import { StartInFlight } from './start-in-flight.ts'
import { buildDefault, resolveConfigured } from './template-refs.ts'

/** One stay at a running sandbox: resumed, it is another one. */
interface Attachment {
  readonly sandbox: Sandbox
}

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
  /** Processes in the sandbox; each method starts the sandbox where it does not run. */
  declare readonly processes: E2BProcessManager
  /** The mounts of the workspace. A start makes those that are not there. */
  declare readonly mounts: MountManager
  /**
   * Public URLs of ports: `http` on a platform of this machine, else `https`. A sandbox that is not attached here is looked
   * up by `sandboxId` or `id`, and not woken; null where there is none.
   */
  override readonly networking: SandboxNetworking = { getPortUrl: (port) => this.#portUrl(port) }

  /** The SDK's sandbox while this instance is attached to one. */
  protected _sandbox: Sandbox | null = null
  /** The ref that last gave a sandbox, or that `resolveTemplate` answered; a ref that cannot be booted is forgotten. */
  protected _resolvedTemplateId: string | undefined

  readonly #input: Readonly<E2BSandboxOptions>
  readonly #options: ResolvedOptions
  readonly #context: SessionContext
  readonly #host: SandboxHost
  readonly #acquisition: Acquisition
  readonly #detached: Detached
  readonly #mounts: SessionMounts
  readonly #start = new StartInFlight()
  readonly #constructedAt = new Date()
  readonly #ends = new EndOfLife()
  #status: ProviderStatus = 'pending'
  /** One per stay at a running sandbox, so that one that was resumed is told from what it was before. */
  #attachment: Attachment | undefined
  #sandboxId: string | undefined
  #lastBoot: Boot | undefined
  /** What is left of an aborted start; never rejects. */
  #abandoning: Promise<void> | undefined

  /** @throws E2BSandboxError `INVALID_OPTION` */
  constructor(options: E2BSandboxOptions = {}) {
    // A subclass may take options of its own.
    if (new.target === E2BSandbox) assertKnownNames(Object(options))
    const resolved = resolveOptions(options, () => `e2b-sandbox-${randomUUID()}`)
    super({ ...options, env: { ...resolved.env }, name: 'E2BSandbox', processes: new E2BProcessManager() })
    this.id = resolved.id
    this.#input = Object.freeze({ ...options })
    this.#options = resolved
    this.#context = new SessionContext(this.#input, resolved, (error) => {
      this.logger.warn('An onEvent listener failed', { error })
    })
    this.#host = {
      options: resolved,
      connection: () => this.#context.connection(),
      createSdkSandbox: (ref, sdkOptions) => this.createSdkSandbox(ref, sdkOptions),
      connectSdkSandbox: (sandboxId, sdkOptions) => this.connectSdkSandbox(sandboxId, sdkOptions),
      emit: (event) => this.#context.emit(event),
    }
    this.#acquisition = new Acquisition(this.#host)
    this.#detached = new Detached(this.#host)
    this.#mounts = new SessionMounts({
      run: (script, { as, limitMs }) =>
        runScript(this.e2b, script, { limitMs, user: as === 'root' ? 'root' : undefined }),
      writeAsRoot: (path, content) => writeRootFile(this.e2b, path, content),
      list: () => this.mounts,
      warn: (message, error) => this.#context.warn('MOUNTS_STALE', message, error),
    })
  }

  get status(): ProviderStatus {
    return this.#status
  }

  /** Destroyed is final, whatever else that was under way comes to its end afterwards. */
  set status(next: ProviderStatus) {
    if (this.#status !== 'destroyed') this.#status = next
  }

  /**
   * The SDK's sandbox, for what Mastra's interface has no word for.
   * @throws E2BSandboxError `NOT_STARTED`, or `DESTROYED`
   */
  get e2b(): Sandbox {
    if (this._sandbox === null) {
      this.#assertNotDestroyed()
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

  /**
   * Wraps the base class's start with an end that `stop` and `destroy` can bring about.
   * @throws E2BSandboxError `DESTROYED` after `destroy`, `ABORTED`; whatever else is thrown is typed too
   */
  override async _start(options?: SandboxStartOptions): Promise<SandboxStartResult | void> {
    const callerSignal = options?.abortSignal
    if (callerSignal?.aborted) throw abortedError('Starting the sandbox', callerSignal.reason)
    this.#assertNotDestroyed()
    if (this.status === 'running') return super._start(options)
    if (this.#start.isUnderway) return this.#shareStart(callerSignal)
    return this.#start.run(
      callerSignal,
      async (signal) => {
        try {
          return await super._start({ ...options, abortSignal: signal })
        } catch (error) {
          const failure = this.#context.redacted(error)
          if (!signal.aborted) this.#acquisition.failed(failure)
          // The base class waits for a destroy under way before it refuses.
          this.#assertNotDestroyed(failure)
          throw failure
        }
      },
      () => {
        this.#abandoning = this.#acquisition.abandoned()
      },
    )
  }

  /** @throws E2BSandboxError `DESTROYED`, and as `start` */
  override async ensureRunning(): Promise<void> {
    // The hooks of stop and destroy may still run commands.
    const mayBeHook = this._sandbox !== null && (this.status === 'stopping' || this.status === 'destroying')
    if (!mayBeHook) this.#assertNotDestroyed()
    await super.ensureRunning()
  }

  protected override async find(options?: SandboxStartOptions): Promise<Sandbox | undefined> {
    const signal = signalOf(options)
    // It may have been ended while it waited for a stop.
    signal.throwIfAborted()
    return this.#acquisition.find({
      known: this.#known(),
      signal,
      mayPrepare: this.#usesLadder(),
      waking: (sandboxId) => {
        this.#sandboxId = sandboxId
      },
    })
  }

  protected override async connect(existing: Sandbox): Promise<void> {
    this.#attach(existing)
    this.#acquisition.landed(existing.sandboxId)
    await this.#mounts.dropStale()
  }

  protected override async create(options?: SandboxStartOptions): Promise<void> {
    const { boot, made } = await this.#acquisition.create(this.#ownResolution(), signalOf(options))
    this.#lastBoot = boot
    const fromCheckpoint = boot.rung === 'checkpoint' || boot.rung === 'seed-checkpoint'
    if (!fromCheckpoint) this._resolvedTemplateId = boot.ref
    this.#attach(made.sandbox)
    this.#acquisition.landed(made.sandbox.sandboxId)
    this.#acquisition.converge(
      made,
      (older) => {
        this.#attach(older)
        this.#lastBoot = undefined
      },
      (error) =>
        this.#context.warn(
          'SANDBOX_RIVALS_UNKNOWN',
          `It could not be checked whether '${this.id}' has other sandboxes`,
          error,
        ),
    )
    // What was mounted when the snapshot was taken belongs to another session.
    if (fromCheckpoint) await this.#mounts.dropStale()
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
    this._resolvedTemplateId ??= await resolveConfigured(this.#host, this.#start.signal)
    return this._resolvedTemplateId
  }

  /** Builds the default template, at the size the configured one asks for, whether or not it exists; answers its ref. */
  protected buildDefaultTemplate(): Promise<string> {
    return buildDefault(this.#host, this.#start.signal)
  }

  // End of life

  /** As a workspace stops it. Mastra's shutdown stops every workspace, so one not used here is left to who uses it. */
  override async _stop(): Promise<void> {
    if (this.status === 'destroyed') return
    this.#start.end('stop')
    if (this.status === 'pending') {
      this.status = 'stopped'
      return
    }
    await super._stop()
  }

  /**
   * Pauses the sandbox. A start in flight is aborted. Not started here, the sandbox of the `sandboxId` or `id` option is
   * looked up and paused. A sandbox that is gone, or was destroyed here, counts as stopped.
   */
  override async stop(): Promise<void> {
    await this.#endStart('stop')
    await this.#ends.inTurn(async () => {
      // Whatever carries the id by now is somebody else's.
      if (this.status === 'destroyed') return
      if (this._sandbox !== null) await this.#mounts.dropAll()
      for (const sandboxId of await this.#ownSandboxes()) {
        await this.#detached.pause(sandboxId)
        this.#context.emit({ type: 'sandbox-stopped', sandboxId })
      }
      this._sandbox = null
      if (this.status !== 'stopping' && this.status !== 'destroying') this.status = 'stopped'
    })
  }

  /** As a workspace destroys it, whether or not it was started here. */
  override async _destroy(): Promise<void> {
    await this.#ends.destroying(async () => {
      this.#start.end('destroy')
      // The base class takes it that nothing exists before a start; a session may have been started elsewhere, or before.
      if (this.status === 'pending' && this.#isNamed()) this.status = 'stopped'
      await super._destroy()
    })
  }

  /**
   * Kills the sandbox, paused or running. A start in flight is aborted, and what it may still create is killed too. Not
   * started here, the sandboxes of the `sandboxId` or `id` option are looked up and killed. From its call on this instance
   * starts no more, unless it fails.
   */
  override async destroy(): Promise<void> {
    await this.#ends.destroying(async () => {
      await this.#endStart('destroy')
      await this.#abandoning
      await this.#ends.inTurn(() => this.#killOwn())
    })
  }

  async #killOwn(): Promise<void> {
    if (this.status === 'destroyed') return
    for (const sandboxId of await this.#ownSandboxes()) {
      await this.#detached.kill(sandboxId)
      this.#acquisition.destroyed()
      this.#context.emit({ type: 'sandbox-destroyed', sandboxId })
    }
    this._sandbox = null
    this.#sandboxId = undefined
    this.processes.forgetAll()
    this.status = 'destroyed'
  }

  // Abilities

  /**
   * Runs a command in a login shell and waits for its end. Arguments are quoted, the command is not. It has no stdin, no
   * time limit unless `timeout` is given, and all its output is kept unless `maxRetainedBytes` is. A non-zero exit, a
   * timeout and an abort are results, told apart by `endedBy`.
   * @throws E2BSandboxError `ABORTED` where the signal fired before the command began, `INVALID_OPTION` for an argument or
   * option that is malformed or unknown, `ARGUMENT_TOO_LONG`
   */
  override async executeCommand(
    command: string,
    args: string[] = [],
    options: ExecuteCommandOptions = {},
  ): Promise<E2BCommandResult> {
    assertCommandOptions(options)
    const line = commandLine(command, args)
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
   * Writes files, making their directories. `~` and paths that are relative begin in the home directory. A file with a
   * `mode` has it before its content arrives.
   * @throws E2BSandboxError `INVALID_OPTION` for a path, content or mode that is none, `ABORTED`; files written before stay
   */
  override async writeFiles(files: SandboxFileInput[], options: WriteFilesOptions = {}): Promise<void> {
    const { abortSignal } = options
    const given = resolveFiles(files)
    if (abortSignal?.aborted) throw abortedError('Writing files', abortSignal.reason)
    if (given.length === 0) return
    try {
      await this.retryOnDead(() => writeSandboxFiles(this.e2b, given, abortSignal), { repeatable: true })
    } catch (error) {
      throw abortSignal?.aborted ? abortedError('Writing files', abortSignal.reason) : error
    }
  }

  /**
   * Mounts the bucket or container of a file system at a directory of the sandbox, which must be empty or absent. Mounted
   * there already with the same configuration, it stays. The program is installed where the template lacks it; the
   * credentials lie in a file only root can read until {@link unmount}. What fails is told in the result.
   * @throws E2BSandboxError where the sandbox cannot be reached
   */
  override async mount(filesystem: WorkspaceFilesystem, mountPath: string): Promise<MountResult> {
    assertMountable(filesystem)
    return this.retryOnDead(() => this.#mounts.mount(filesystem, mountPath), { repeatable: true })
  }

  /**
   * Unmounts what {@link mount} has mounted at a directory and removes its credentials. Other mounts are left alone.
   * @throws E2BSandboxError `MOUNT_FAILED` where it stays mounted, `INVALID_OPTION` for a path that is none
   */
  override async unmount(mountPath: string): Promise<void> {
    mountDirectory(mountPath)
    await this.retryOnDead(() => this.#mounts.unmount(mountPath), { repeatable: true })
  }

  /**
   * Unmounts every mount {@link mount} has made, in this process or another, that is not at one of these paths. A start
   * that connects does so with the workspace's paths where the workspace has mounts.
   * @throws E2BSandboxError as {@link unmount}
   */
  async reconcileMounts(expectedMountPaths: string[]): Promise<void> {
    assertMountPaths(expectedMountPaths)
    await this.retryOnDead(() => this.#mounts.reconcile(expectedMountPaths), { repeatable: true })
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
    const info = await unlessGone(() => this.#context.connection().sandboxes.info(sandboxId))
    return describeSandbox(known, info)
  }

  override getInstructions(options: { requestContext?: RequestContext } = {}): string {
    const { instructions } = this.#options
    const text = defaultInstructions(this.workingDirectory)
    if (instructions === undefined) return text
    return typeof instructions === 'string' ? instructions : instructions({ defaultInstructions: text, ...options })
  }

  /**
   * A sibling with the same configuration and its own identity: `sandboxId` and `checkpointName` are not inherited, `env`
   * is added to that of this one, `idleTimeoutMinutes` becomes the timeout. E2B knows no acting user. No I/O.
   */
  clone(overrides: SandboxCloneOptions = {}): E2BSandbox {
    return new this.constructor(cloneOptions(this.#input, overrides))
  }

  // Checkpoints

  /** True: {@link snapshot} writes checkpoints that sandboxes can be created from. */
  override readonly supportsCheckpoints: boolean = true

  /**
   * Writes the checkpoint `checkpointName`, or one named like the `id` where there is none, from the running sandbox: its
   * files, its memory and what runs. The one of before is replaced. A sandbox that does not run is started. While it is
   * written the sandbox stands still; E2B may end it where that fails.
   * @throws E2BSandboxError `CONFLICT`, `SERVICE_BUSY` and others as E2B answers
   */
  override async snapshot(): Promise<void> {
    const name = this.#options.checkpointName ?? this.id
    const startedAt = performance.now()
    await this.retryOnDead(
      () => this.#context.connection().sandboxes.snapshot(this.e2b.sandboxId, checkpointSnapshotName(name)),
      { repeatable: true },
    )
    const durationMs = Math.round(performance.now() - startedAt)
    this.#context.emit({ type: 'checkpoint-written', name, ref: checkpointRef(name), durationMs })
  }

  /**
   * Runs `fn` with the sandbox started. Where the SDK says that the sandbox was not there when `fn` began its work, and
   * E2B confirms that it is gone or paused, the sandbox is started again and `fn` runs once more. Nothing that had begun
   * is repeated, and no text a command prints has a say in it.
   * @param options `repeatable`: `fn` may run again although it may have done its work, as reading or writing a file
   * may; then a connection lost to a sandbox that is gone or paused is reason enough. Default false.
   * @throws E2BSandboxError for whatever else the SDK throws; errors of `fn`'s own, and the end of a command, are passed
   * on as they are
   */
  async retryOnDead<T>(fn: () => Promise<T>, options: { repeatable?: boolean } = {}): Promise<T> {
    return withRecovery<T, Attachment>(fn, options.repeatable === true, {
      ready: () => this.#attached(),
      isCurrent: (attachment) => this._sandbox !== null && this.#attachment === attachment,
      diagnose: async (error, { sandbox }) =>
        isWarmboxError(error) || isSdkFailure(error)
          ? this.#diagnose(error, 'Reaching the sandbox', sandbox)
          : { failure: error },
      isStarting: () => this.#start.isUnderway,
      lost: (attachment, reason) => this.#lost(attachment, reason),
    })
  }

  /**
   * The typed form of an error of the SDK. Whether the sandbox is gone is asked of E2B, since the SDK reports a throttled
   * request in the same way.
   * @internal
   */
  async explain(error: unknown, operation: string, sandbox: Sandbox): Promise<unknown> {
    return (await this.#diagnose(error, operation, sandbox)).failure
  }

  /** Identity and state; no options, no credentials. */
  toJSON(): { id: string; name: string; provider: string; status: ProviderStatus; sandboxId: string | undefined } {
    return { id: this.id, name: this.name, provider: this.provider, status: this.status, sandboxId: this.#sandboxId }
  }

  [inspectKey](): object {
    return { [this.constructor.name]: this.toJSON() }
  }

  // Inner workings

  /** False where a subclass resolves templates in its own way. */
  #usesLadder(): boolean {
    return this.resolveTemplate === E2BSandbox.prototype.resolveTemplate
  }

  #ownResolution(): OwnResolution | undefined {
    if (this.#usesLadder()) return undefined
    return {
      resolve: () => this.resolveTemplate(),
      buildDefault: () => {
        this._resolvedTemplateId = undefined
        return this.buildDefaultTemplate()
      },
    }
  }

  /** @throws E2BSandboxError `DESTROYED`, also while a destroy is under way */
  #assertNotDestroyed(cause?: Error): void {
    if (this.status !== 'destroyed' && !this.#ends.isDestroying) return
    throw new E2BSandboxError({
      code: 'DESTROYED',
      message: `Sandbox '${this.id}' ${this.status === 'destroyed' ? 'was' : 'is being'} destroyed and starts no more`,
      hint: 'Make a new E2BSandbox with the same options, or call stop() instead of destroy() to keep this one',
      cause,
    })
  }

  /** What to try before the logical id. */
  #known(): KnownSandbox | undefined {
    if (this.#sandboxId !== undefined) return { sandboxId: this.#sandboxId, origin: 'attached' }
    const { sandboxId } = this.#options
    return sandboxId === undefined ? undefined : { sandboxId, origin: 'option' }
  }

  #attach(sandbox: Sandbox): void {
    if (this._sandbox?.sandboxId !== sandbox.sandboxId) this.processes.forgetAll()
    this.#mounts.expect()
    this._sandbox = sandbox
    this.#attachment = { sandbox }
    this.#sandboxId = sandbox.sandboxId
  }

  /** Starts the sandbox where it does not run. */
  async #attached(): Promise<Attachment> {
    for (;;) {
      await this.ensureRunning()
      await this.#acquisition.converging
      // Somebody else may have let go of it meanwhile.
      const isLost = this._sandbox === null && ['stopped', 'starting', 'error'].includes(this.status)
      if (isLost) continue
      const sandbox = this.e2b
      // A subclass may attach in a way of its own.
      if (this.#attachment?.sandbox !== sandbox) this.#attachment = { sandbox }
      return this.#attachment
    }
  }

  async #shareStart(callerSignal: AbortSignal | undefined): Promise<SandboxStartResult | void> {
    const shared = super._start()
    try {
      return await (callerSignal === undefined ? shared : abortable(shared, callerSignal))
    } catch (error) {
      if (callerSignal?.aborted) throw this.#context.typed(error, 'Starting the sandbox')
      // The base class refuses with an error without a code.
      if (!isWarmboxError(error)) this.#assertNotDestroyed(this.#context.redacted(error))
      throw error
    }
  }

  /** For direct calls of stop and destroy; the base class's wrappers have waited already. */
  async #endStart(by: 'stop' | 'destroy'): Promise<void> {
    this.#start.end(by)
    // Whoever started it is told how it ended.
    await this._startPromise?.catch(() => undefined)
    await this.#acquisition.converging
  }

  /** The sandbox this instance knows; else, where others can know the logical id, every sandbox that carries it. */
  async #ownSandboxes(): Promise<readonly string[]> {
    // A start that failed for want of an API key has left nothing, and nothing could be asked without one.
    if (this.#start.hasBegun && !this.#context.isConnected) return []
    return this.#detached.sandboxIds(this.#known())
  }

  /** Whether sandboxes of it may exist that this instance has not started. */
  #isNamed(): boolean {
    return this.#options.idIsShared || this.#known() !== undefined
  }

  #diagnose(error: unknown, operation: string, sandbox: Sandbox): Promise<Diagnosis> {
    const failure = this.#context.typed(error, operation)
    return diagnoseFailure(this.#context.connection().sandboxes, failure, operation, sandbox)
  }

  #lost({ sandbox: { sandboxId } }: Attachment, reason: 'paused' | 'gone'): void {
    if (this.status !== 'running') return
    if (reason === 'gone') this.#sandboxId = undefined
    this._sandbox = null
    this.status = 'stopped'
    this.#context.emit({ type: 'sandbox-lost', sandboxId, reason })
  }

  async #portUrl(port: number): Promise<string | null> {
    assertPort(port)
    await this.#acquisition.converging
    if (this._sandbox !== null) return portUrl(this.#context.connection().sdk, this._sandbox, port)
    if (!this.#isNamed() || this.status === 'destroyed') return null
    const [sandboxId] = await this.#ownSandboxes()
    return sandboxId === undefined ? null : portUrl(this.#context.connection().sdk, sandboxId, port)
  }
}

const signalOf = (options: SandboxStartOptions | undefined): AbortSignal =>
  options?.abortSignal ?? new AbortController().signal
