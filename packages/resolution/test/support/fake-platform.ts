import {
  type BuildHandle,
  type BuildLogEntry,
  type BuildProgress,
  type BuildRequest,
  type BuildState,
  type BuildSummary,
  type Clock,
  ResolutionError,
  type ResolutionErrorCode,
  type TagAssignment,
  type TemplateApi,
  type TemplateStatus,
} from '@warmbox/resolution'

export type Method = Exclude<keyof TemplateApi, 'scope'>

/** How a build ends, and what it prints. */
export interface BuildScript {
  readonly end?: 'ready' | { readonly message: string; readonly step?: string } | 'never'
  readonly logs?: readonly string[]
}

export interface FakeBuild {
  readonly id: string
  readonly ref: string
  readonly request: BuildRequest | undefined
  state: BuildState
  script: BuildScript
  polls: number
}

interface Call {
  readonly method: Method
  readonly ref: string
}

type Fault = (call: Call) => unknown

let platforms = 0

/**
 * The template half of E2B as far as the ladder sees it: tags attach when a build is requested, a ref resolves to the
 * newest assignment that is ready, and a started build cancels a running one with the same tag.
 */
export class FakePlatform implements TemplateApi {
  readonly scope = `fake-${(platforms += 1)}`
  readonly calls: Call[] = []
  readonly builds: FakeBuild[] = []
  readonly foreign = new Set<string>()
  /** Asked before every call; an error it gives is the answer. */
  fault: Fault = () => undefined
  /** Scripts of the next builds; then every build is ready at the second look. */
  readonly scripts: BuildScript[] = []
  readonly #tags = new Map<string, TagAssignment[]>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** A build that exists before the test begins. */
  seed(ref: string, state: BuildState, script: BuildScript = {}, createdAt = this.#clock.now()): FakeBuild {
    const build: FakeBuild = { id: `build-${this.builds.length + 1}`, ref, request: undefined, state, script, polls: 0 }
    this.builds.push(build)
    this.#assign(ref, build.id, createdAt)
    return build
  }

  /** Build a ref's tag boots, if any. */
  buildOf(ref: string): FakeBuild | undefined {
    const { name, tag } = split(ref)
    const assigned = (this.#tags.get(name) ?? []).filter((each) => each.tag === tag)
    const ready = assigned.map(({ buildId }) => this.#build(buildId)).filter(({ state }) => state === 'ready')
    return ready.at(-1)
  }

  count(method: Method): number {
    return this.calls.filter((call) => call.method === method).length
  }

  async status(ref: string, signal?: AbortSignal): Promise<TemplateStatus> {
    this.#enter('status', ref, signal)
    if (this.foreign.has(ref)) return 'foreign'
    return this.buildOf(ref) === undefined ? 'missing' : 'ready'
  }

  async templateId(name: string, signal?: AbortSignal): Promise<string | undefined> {
    this.#enter('templateId', name, signal)
    return this.#tags.has(name) ? `id-of-${name}` : undefined
  }

  async tags(name: string, signal?: AbortSignal): Promise<readonly TagAssignment[] | undefined> {
    this.#enter('tags', name, signal)
    const newest = new Map((this.#tags.get(name) ?? []).map((each) => [each.tag, each]))
    return this.#tags.has(name) ? [...newest.values()] : undefined
  }

  async requestBuild(request: BuildRequest, signal?: AbortSignal): Promise<BuildHandle> {
    this.#enter('requestBuild', request.ref, signal)
    const { ref } = request
    for (const other of this.#sharing(ref)) {
      if (other.state === 'waiting') this.#fail(other, 'superseded')
    }
    const build = this.seed(ref, 'waiting', this.scripts.shift())
    const requested: FakeBuild = { ...build, request }
    this.builds[this.builds.length - 1] = requested
    return { templateId: `id-of-${split(ref).name}`, buildId: requested.id }
  }

  async startBuild({ buildId }: BuildHandle, request: BuildRequest, signal?: AbortSignal): Promise<void> {
    this.#enter('startBuild', request.ref, signal)
    const build = this.#build(buildId)
    for (const other of this.#sharing(build.ref)) {
      if (other !== build && other.state === 'building') this.#fail(other, 'build was cancelled')
    }
    if (build.state !== 'waiting') throw problem('BAD_REQUEST', 'build is not in waiting state')
    build.state = 'building'
  }

  async buildProgress({ buildId }: BuildHandle, logsOffset: number, signal?: AbortSignal): Promise<BuildProgress> {
    const build = this.#build(buildId)
    this.#enter('buildProgress', build.ref, signal)
    build.polls += 1
    const { end = 'ready', logs = [] } = build.script
    if (build.state === 'building' && build.polls > 1 && end !== 'never') {
      build.state = end === 'ready' ? 'ready' : 'error'
    }
    const entries = logs
      .slice(logsOffset, logsOffset + 100)
      .map((message): BuildLogEntry => ({ message, level: 'info', timestamp: new Date(this.#clock.now()) }))
    const failed = build.state === 'error' && typeof end === 'object'
    return { state: build.state, logs: entries, ...(failed ? { failure: end } : {}) }
  }

  async assignTags(ref: string, tags: readonly string[], signal?: AbortSignal): Promise<void> {
    this.#enter('assignTags', ref, signal)
    const build = this.buildOf(ref)
    if (build === undefined) throw problem('NOT_FOUND', 'the tag has no ready build')
    for (const tag of tags) this.#assign(`${split(ref).name}:${tag}`, build.id, this.#clock.now())
  }

  async removeTags(name: string, tags: readonly string[], signal?: AbortSignal): Promise<void> {
    this.#enter('removeTags', name, signal)
    const assigned = this.#tags.get(name) ?? []
    this.#tags.set(
      name,
      assigned.filter(({ tag }) => !tags.includes(tag)),
    )
  }

  async listBuilds(templateId: string, signal?: AbortSignal): Promise<readonly BuildSummary[]> {
    this.#enter('listBuilds', templateId, signal)
    const assigned = (this.#tags.get(templateId.replace(/^id-of-/, '')) ?? []).toReversed()
    return [...new Map(assigned.map((each) => [each.buildId, each])).values()].map(({ buildId, createdAt }) => ({
      buildId,
      state: this.#build(buildId).state,
      createdAt,
    }))
  }

  #enter(method: Method, ref: string, signal: AbortSignal | undefined): void {
    signal?.throwIfAborted()
    const call = { method, ref }
    this.calls.push(call)
    const error = this.fault(call)
    if (error !== undefined) throw error
  }

  #build(id: string): FakeBuild {
    const build = this.builds.find((each) => each.id === id)
    if (build === undefined) throw problem('NOT_FOUND', 'no such build')
    return build
  }

  #sharing(ref: string): FakeBuild[] {
    return this.builds.filter((each) => each.ref === ref)
  }

  #fail(build: FakeBuild, message: string): void {
    build.state = 'error'
    build.script = { ...build.script, end: { message } }
  }

  #assign(ref: string, buildId: string, createdAt: number): void {
    const { name, tag } = split(ref)
    const assigned = this.#tags.get(name) ?? []
    assigned.push({ tag, buildId, createdAt: new Date(createdAt) })
    this.#tags.set(name, assigned)
  }
}

const split = (ref: string): { name: string; tag: string } => {
  const [name = '', tag = 'default'] = ref.split(':')
  return { name, tag }
}

/** An answer of the platform's, as the real TemplateApi reports it. */
export const problem = (code: ResolutionErrorCode, message = `answered with ${code}`): ResolutionError =>
  new ResolutionError({ code, message })

/** A fault for one method, a number of times. */
export const failing = (method: Method, error: () => unknown, times = Number.POSITIVE_INFINITY): Fault => {
  let left = times
  return (call) => {
    if (call.method !== method || left <= 0) return undefined
    left -= 1
    return error()
  }
}
