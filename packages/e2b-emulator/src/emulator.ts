import { pause } from './clock.ts'
import { createControl, type EmulatorControl, type RequestEntry } from './control.ts'
import { createEnvd, type Envd, type SandboxForEnvd } from './envd/index.ts'
import { EmulatorError } from './errors.ts'
import type { Plane } from './fault.ts'
import { answerUnder, FaultList } from './faults.ts'
import { OpenStreams } from './open-streams.ts'
import type { EmulatorOptions } from './options.ts'
import { resolveOptions, type ResolvedOptions } from './resolve-options.ts'
import { addForeignTemplate } from './platform/public-template.ts'
import { identifiersFrom, teamId } from './platform/identifiers.ts'
import { recordedRuntime } from './platform/observation/recorded-runtime.ts'
import { ENVD_PORT } from './platform/machine-facts.ts'
import type { Platform } from './platform/platform.ts'
import { createRouter } from './platform/router.ts'
import { killSandbox } from './platform/sandboxes/lifecycle.ts'
import { emptyState, type PlatformState } from './platform/state.ts'
import { answerSandboxTraffic } from './platform/traffic/answer.ts'
import type { PortConnection } from './platform/traffic/connection.ts'
import { connectToPort } from './platform/traffic/port.ts'
import { sandboxIdOf, sandboxTarget, type SandboxTarget } from './platform/traffic/target.ts'
import { cancelRunning } from './platform/templates/start-build.ts'
import { createOwnDirectory, type OwnDirectory } from './runtime/own-directory.ts'
import type { Runtime } from './runtime/port.ts'
import { selectRuntime, type SelectedRuntime } from './runtime/select.ts'
import { createFetch } from './server/fetch.ts'
import { assertListenOptions, listenOnLoopback, type ListenOptions, type LoopbackServer } from './server/loopback.ts'

export interface Emulator {
  /**
   * Answers one request of either plane, whatever its origin. Rejects only with {@link ConnectionReset}, where the
   * connection is to be dropped, and after {@link close} with {@link EmulatorError} `CLOSED`.
   */
  handle(request: Request): Promise<Response>
  /** `fetch`, answered here. */
  readonly fetch: typeof globalThis.fetch
  /**
   * Serves both planes on 127.0.0.1. May be called again for another port. Rejects with {@link EmulatorError}
   * `INVALID_OPTION`, `PORT_UNAVAILABLE` where it cannot listen there, with what {@link ready} rejects with, and after
   * {@link close}.
   */
  listen(options?: ListenOptions): Promise<LoopbackServer>
  readonly control: EmulatorControl
  /** What plays the machines; `undecided` until the first request or {@link ready}. */
  readonly runtime: { readonly kind: Runtime['kind'] | 'undecided'; readonly reason: string }
  /** Decides on the runtime now. Rejects with {@link EmulatorError} where the one asked for cannot work, and after {@link close}. */
  ready(): Promise<void>
  /**
   * Ends builds, sandboxes and servers, and removes what was put on the host. Idempotent. From its call on, everything
   * that would still do something is refused with {@link EmulatorError} `CLOSED`; what only tells goes on telling.
   */
  close(): Promise<void>
}

/** The E2B platform in this process. Construction does nothing; the first request or {@link Emulator.listen} does. */
export function createEmulator(options: EmulatorOptions = {}): Emulator {
  return new EmulatorCore(resolveOptions(options))
}

/** What the machine allows, and the same runtime with its journals. */
type RecordedSelection = SelectedRuntime & { readonly recorded: Runtime }

class EmulatorCore implements Emulator {
  readonly fetch: typeof globalThis.fetch
  readonly control: EmulatorControl
  readonly #options: ResolvedOptions
  readonly #state: PlatformState = emptyState()
  readonly #faults: FaultList
  readonly #streams = new OpenStreams()
  readonly #requests: { method: string; path: string; plane: Plane; status: number }[] = []
  readonly #servers = new Set<LoopbackServer>()
  readonly #background = new Set<Promise<void>>()
  readonly #platform: Platform
  readonly #answerControl: (request: Request) => Promise<Response>
  readonly #envd: Envd
  #selecting: Promise<RecordedSelection> | undefined
  #selected: RecordedSelection | undefined
  #uploads: OwnDirectory | undefined
  #closing: Promise<void> | undefined

  constructor(options: ResolvedOptions) {
    this.#options = options
    this.#faults = new FaultList(options.faults, options.chance)
    this.#envd = createEnvd({ machineOf: (sandboxId) => this.#machineOf(sandboxId), clock: options.clock })
    this.#platform = {
      state: this.#state,
      clock: options.clock,
      identifiers: identifiersFrom(options.ids),
      team: { id: teamId(options.team), slug: options.team },
      limits: options.limits,
      envdVersion: options.envdVersion,
      runtime: async () => (await this.#select()).recorded,
      uploadDirectory: () => (this.#uploads ??= createOwnDirectory(options.dataDirectory, 'warmbox-uploads-')).path,
      uploadOrigin: (request) => [...this.#servers][0]?.url ?? request.origin,
      sandboxEnded: (sandboxId) => this.#envd.forget(sandboxId),
      background: (work) => this.#keep(work),
      failNextBuilds: [],
      finishCancelledBuilds: [],
    }
    addForeignTemplate(this.#platform, { name: 'base', namespace: null, public: true })
    this.#answerControl = createRouter(this.#platform, options.apiKey)
    this.fetch = createFetch((request) => this.handle(request))
    this.control = createControl(this.#platform, {
      requests: this.#requests satisfies readonly RequestEntry[],
      faults: this.#faults,
      streams: this.#streams,
      settle: () => this.#settleBackground(),
      assertOpen: () => this.#assertOpen(),
    })
  }

  get runtime(): Emulator['runtime'] {
    if (this.#selected === undefined) return { kind: 'undecided', reason: 'nothing needed a machine yet' }
    return { kind: this.#selected.runtime.kind, reason: this.#selected.reason }
  }

  async ready(): Promise<void> {
    this.#assertOpen()
    await this.#select()
  }

  async handle(request: Request): Promise<Response> {
    this.#assertOpen()
    const target = sandboxTarget(request, this.#state)
    return this.#answer(request, target, () =>
      target === undefined ? this.#answerControl(request) : this.#answerSandbox(request, target),
    )
  }

  async #answerSandbox(request: Request, target: SandboxTarget): Promise<Response> {
    const answer = await answerSandboxTraffic(request, target, { platform: this.#platform, envd: this.#envd })
    return this.#streams.track(target.sandboxId, answer)
  }

  /** Connects to the port of a sandbox that a request to change protocols is for; an answer instead where there is none. */
  async #openPort(request: Request): Promise<PortConnection | Response> {
    const target = sandboxTarget(request, this.#state)
    if (target === undefined || target.port === ENVD_PORT) return this.handle(request)
    let opened: PortConnection | undefined
    try {
      const answer = await this.#answer(request, target, async () => {
        const result = await connectToPort(this.#platform, target, request)
        if (result instanceof Response) return result
        opened = result
        return new Response()
      })
      return opened ?? answer
    } catch (error) {
      opened?.stream.destroy()
      throw error
    }
  }

  /** Writes the request down, and answers it as the faults in force will have it. */
  async #answer(
    request: Request,
    target: SandboxTarget | undefined,
    respond: () => Promise<Response>,
  ): Promise<Response> {
    const entry = {
      method: request.method,
      path: new URL(request.url).pathname,
      plane: planeOf(target),
      status: 0,
    } satisfies RequestEntry
    this.#requests.push(entry)
    const { clock, latency } = this.#options
    if (latency > 0) await pause(clock, latency, request.signal)
    const response = await answerUnder(this.#faults.take(entry), respond, { clock, signal: request.signal })
    entry.status = response.status
    return response
  }

  async listen(options: ListenOptions = {}): Promise<LoopbackServer> {
    assertListenOptions(options)
    await this.ready()
    const { apiKey } = this.#options
    const server = await listenOnLoopback(
      {
        isSandboxHost: (host) => this.#state.sandboxes.has(sandboxIdOf(host) ?? ''),
        handle: (request) => this.handle(request),
        openPort: (request) => this.#openPort(request),
      },
      { ...options, apiKey },
    )
    this.#servers.add(server)
    if (this.#closing !== undefined) await this.#closeServer(server)
    this.#assertOpen()
    return { ...server, close: () => this.#closeServer(server) }
  }

  close(): Promise<void> {
    this.#closing ??= this.#shutDown()
    return this.#closing
  }

  async #shutDown(): Promise<void> {
    await Promise.all([...this.#servers].map((server) => this.#closeServer(server)))
    const builds = [...this.#state.builds.values()]
    for (const build of builds) cancelRunning(build)
    await Promise.all(builds.flatMap(({ state }) => (state.status === 'building' ? [state.settled] : [])))
    await Promise.all(
      [...this.#state.sandboxes.values()].map((sandbox) => killSandbox(this.#platform, sandbox, 'request')),
    )
    await this.#settleBackground()
    // A runtime that could not be made has nothing to close; whoever asked for it was told.
    const selected = await this.#selecting?.catch(() => undefined)
    await selected?.runtime.close()
    await this.#uploads?.remove()
  }

  async #closeServer(server: LoopbackServer): Promise<void> {
    this.#servers.delete(server)
    await server.close()
  }

  #machineOf(sandboxId: string): SandboxForEnvd | undefined {
    const sandbox = this.#state.sandboxes.get(sandboxId)
    if (sandbox?.phase.name !== 'running') return undefined
    return {
      id: sandboxId,
      machine: sandbox.phase.machine,
      accessToken: sandbox.envdAccessToken,
      defaultUser: sandbox.boot.context.user,
      defaultWorkdir: sandbox.boot.context.workdir,
      envs: sandbox.envs,
      templateId: sandbox.templateId,
      envdVersion: sandbox.envdVersion,
      resources: { cpuCount: sandbox.cpuCount, memoryMB: sandbox.memoryMB },
    }
  }

  #assertOpen(): void {
    if (this.#closing !== undefined)
      throw new EmulatorError('CLOSED', 'the emulator was closed', { hint: 'Create another one.' })
  }

  async #select(): Promise<RecordedSelection> {
    // What was under way when it closed may go on with the runtime there is, but gets no other.
    if (this.#selecting === undefined) this.#assertOpen()
    this.#selecting ??= this.#selectOnce()
    this.#selected = await this.#selecting
    return this.#selected
  }

  async #selectOnce(): Promise<RecordedSelection> {
    const selected = await selectRuntime(this.#options.runtime, {
      dataDirectory: this.#options.dataDirectory,
      certificateAuthorities: this.#options.certificateAuthorities,
      now: () => new Date(this.#options.clock.now()),
    })
    return { ...selected, recorded: recordedRuntime(selected.runtime, this.#state, this.#options.clock) }
  }

  #keep(work: Promise<void>): void {
    this.#background.add(work)
    void work.finally(() => this.#background.delete(work))
  }

  async #settleBackground(): Promise<void> {
    while (this.#background.size > 0) await Promise.allSettled(this.#background)
  }
}

const planeOf = (target: SandboxTarget | undefined): Plane =>
  target === undefined ? 'control' : target.port === ENVD_PORT ? 'envd' : 'port'
