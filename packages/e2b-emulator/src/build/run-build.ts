import type { Schemas } from '../platform/contract.ts'
import { ApiError } from '../platform/api-error.ts'
import type { Platform } from '../platform/platform.ts'
import type { BuildArtifact, BuildRecord, Layer } from '../platform/state.ts'
import { bootableBuild } from '../platform/templates/resolve.ts'
import { parseTemplateRef } from '../platform/template-ref.ts'
import type { Machine, Runtime } from '../runtime/port.ts'
import { BuildFailure, FinishedWithoutFiles } from './build-failure.ts'
import { createBuildLog, type BuildLog } from './build-log.ts'
import type { BuildMachine } from './command.ts'
import { finalizeFiles } from './finalize.ts'
import { imageKey, parentKey, stepKey } from './layer-key.ts'
import { startAndWaitUntilReady } from './start-command.ts'
import { executeStep } from './steps.ts'

type Definition = Schemas['TemplateBuildStartV2']

/** The platform's own step: whatever the image or parent says, steps begin as `user`. */
const DEFAULT_USER_STEP: Schemas['TemplateStep'] = { type: 'USER', args: ['user', 'true'] }

/** What differs between clients. */
export interface BuildSemantics {
  /** Whether steps begin as the default user; before it was introduced they began as root. */
  readonly defaultUser: boolean
}

export interface BuildOptions extends BuildSemantics {
  /** Aborted with the {@link BuildFailure} that the build ends in, or with {@link FinishedWithoutFiles}. */
  readonly signal: AbortSignal
}

/** Runs a build to its end and writes the outcome into the record. Never rejects. */
export async function runBuild(
  platform: Platform,
  record: BuildRecord,
  definition: Definition,
  options: BuildOptions,
): Promise<void> {
  const log = createBuildLog(record, platform.clock)
  const { signal } = options
  try {
    const artifact = await new BuildRun(platform, record, log, options, await platform.runtime()).run(definition)
    signal.throwIfAborted()
    log.write('info', 'Build finished')
    record.state = { status: 'ready', artifact: async () => artifact }
  } catch (error) {
    const reason: unknown = signal.aborted ? signal.reason : error
    if (reason instanceof FinishedWithoutFiles) {
      record.state = { status: 'ready', artifact: () => Promise.reject(artifactLost(record)) }
    } else {
      const failure = asFailure(reason)
      log.phase('error', failure.step ?? '').write('error', failure.message)
      record.state = { status: 'error', reason: { message: failure.message, step: failure.step } }
    }
  }
  record.updatedAt = platform.clock.now()
}

const artifactLost = ({ id }: BuildRecord) =>
  new ApiError(500, `failed to create sandbox: files of build '${id}' are missing`, {
    errorCode: 'sandbox_create_failed',
  })

const asFailure = (error: unknown): BuildFailure =>
  error instanceof BuildFailure
    ? error
    : new BuildFailure(error instanceof Error ? error.message : String(error), { cause: error })

class BuildRun {
  readonly #platform: Platform
  readonly #record: BuildRecord
  readonly #log: BuildLog
  readonly #options: BuildOptions
  readonly #runtime: Runtime
  #machine: Machine | undefined

  constructor(platform: Platform, record: BuildRecord, log: BuildLog, options: BuildOptions, runtime: Runtime) {
    this.#platform = platform
    this.#record = record
    this.#log = log
    this.#options = options
    this.#runtime = runtime
  }

  async run(definition: Definition): Promise<BuildArtifact> {
    const told = this.#platform.failNextBuilds.shift()
    if (told !== undefined) throw new BuildFailure(told.message, { step: told.step })
    try {
      const base = await this.#inStep('base', () => this.#base(definition))
      const layer = await this.#steps(base, definition)
      return await this.#inStep('finalize', () => this.#finalize(layer, base.parent, definition))
    } finally {
      await this.#machine?.destroy()
    }
  }

  /** Names the step in whatever ends it. */
  async #inStep<T>(step: string, work: () => Promise<T>): Promise<T> {
    this.#options.signal.throwIfAborted()
    try {
      return await work()
    } catch (error) {
      throw new BuildFailure(asFailure(error).message, { step, cause: error })
    }
  }

  async #base(definition: Definition): Promise<Base> {
    const log = this.#log.phase('base', 'base')
    const parent = definition.fromTemplate === undefined ? undefined : await this.#parent(definition.fromTemplate)
    log.write(
      'info',
      parent === undefined ? `FROM ${definition.fromImage}` : `FROM TEMPLATE ${definition.fromTemplate}`,
    )
    const start: BaseStart =
      parent === undefined
        ? {
            key: imageKey(definition.fromImage ?? ''),
            load: async () => ({ image: await this.#runtime.baseImage(definition.fromImage ?? ''), context: ROOT }),
          }
        : { key: parent.key, load: async () => parent.artifact }
    const forced = definition.force === true
    if (!this.#options.defaultUser) {
      return { ...(await start.load()), key: start.key, forced, parent: parent?.artifact }
    }
    const key = stepKey(start.key, DEFAULT_USER_STEP)
    const cached = forced ? undefined : this.#platform.state.layers.get(key)
    const layer = cached ?? (await this.#execute(await start.load(), DEFAULT_USER_STEP, key, log))
    return { ...layer, key, forced, parent: parent?.artifact }
  }

  async #parent(ref: string) {
    const { build, artifact } = bootableBuild(this.#platform, parseTemplateRef(ref))
    return { key: parentKey(build.id), artifact: await artifact() }
  }

  async #steps(base: Base, definition: Definition): Promise<Layer> {
    const steps = definition.steps ?? []
    let layer: Layer = base
    let { key, forced } = base
    for (const [index, step] of steps.entries()) {
      const number = String(index + 1)
      const log = this.#log.phase(`builder ${number}/${steps.length}`, number)
      const source = layer
      key = stepKey(key, step)
      forced ||= step.force === true
      const text = [step.type.toUpperCase(), ...(step.args ?? [])].join(' ')
      const cached = forced ? undefined : this.#platform.state.layers.get(key)
      log.write('info', cached === undefined ? text : `CACHED ${text}`)
      const layerKey = key
      layer = cached ?? (await this.#inStep(number, () => this.#execute(source, step, layerKey, log)))
    }
    return layer
  }

  /** Carries out a step on top of a layer; the result is a layer that later builds can start from. */
  async #execute(source: Layer, step: Schemas['TemplateStep'], key: string, log: BuildLog): Promise<Layer> {
    const build = await this.#machineOver(source, log)
    const upload = step.filesHash === undefined ? undefined : this.#platform.state.uploads.get(step.filesHash)
    const { context, touched } = await executeStep(step, { build, context: source.context, upload })
    const layer = { image: touched ? await build.machine.snapshot() : source.image, context }
    this.#platform.state.layers.set(key, layer)
    return layer
  }

  /** One machine serves all steps from the first that is not cached: each leaves it just as its layer is. */
  async #machineOver(layer: Layer, log: BuildLog): Promise<BuildMachine> {
    this.#machine ??= await this.#runtime.createMachine(layer.image, {
      id: `build-${this.#record.id}`,
      hostname: 'e2b',
      purpose: 'build',
      clock: this.#platform.clock,
    })
    return { machine: this.#machine, clock: this.#platform.clock, signal: this.#options.signal, log }
  }

  async #finalize(layer: Layer, parent: BuildArtifact | undefined, definition: Definition): Promise<BuildArtifact> {
    const build = await this.#machineOver(layer, this.#log.phase('finalize', 'finalize'))
    await finalizeFiles(build, this.#record)
    const commands = {
      context: layer.context,
      startCommand: definition.startCmd ?? parent?.startCommand,
      readyCommand: definition.readyCmd ?? parent?.readyCommand,
    }
    await startAndWaitUntilReady(build, commands)
    return { ...commands, image: await build.machine.snapshot() }
  }
}

const ROOT = { user: 'root', workdir: undefined, env: {} } as const

interface BaseStart {
  readonly key: string
  load(): Promise<Layer>
}

interface Base extends Layer {
  readonly key: string
  readonly forced: boolean
  readonly parent: BuildArtifact | undefined
}
