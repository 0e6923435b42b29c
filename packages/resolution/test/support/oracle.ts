import {
  type BootPorts,
  type BuildHandle,
  type BuildProgress,
  type BuildRequest,
  type BuildSummary,
  ResolutionError,
  type TagAssignment,
  type TemplateApi,
  type TemplateStatus,
} from '@warmbox/resolution'
import type { Tagged } from './answers.ts'
import type { Walk } from './walk.ts'

let scopes = 0

/** A platform that decides nothing by itself: every question that matters is put to the walk. */
export class Oracle implements TemplateApi {
  readonly scope = `oracle-${(scopes += 1)}`
  /** Every call, the ones the walk is not asked about included; of the foreground alone. */
  calls = 0
  /** Refs that were asked for, booted or built. */
  readonly refs = new Set<string>()
  /** `rung ref` of each create. */
  readonly creates: string[] = []
  /** Sandboxes that exist at the end, as far as anybody could know. */
  sandboxes = 0
  /** Builds requested after the start was over. */
  backgroundBuilds = 0
  readonly #walk: Walk
  readonly #now: () => number
  readonly #ends = new Map<string, BuildProgress>()
  readonly #adoptions = new Map<string, () => unknown>()
  #builds = 0
  #isOver = false

  constructor(walk: Walk, now: () => number) {
    this.#walk = walk
    this.#now = now
  }

  /** The start is over: what comes now is background work, which finds nothing and may not build. */
  end(): void {
    this.#isOver = true
  }

  async status(ref: string): Promise<TemplateStatus> {
    if (this.#isOver) return 'missing'
    this.#called(ref)
    const status = this.#walk.ask('status')
    if (status === 'ready' || status === 'missing' || status === 'foreign') return status
    throw new TypeError('no status')
  }

  async templateId(name: string): Promise<string> {
    this.#called()
    return `id-of-${name}`
  }

  async tags(name: string): Promise<readonly TagAssignment[] | undefined> {
    if (this.#isOver) return []
    this.#called()
    const tagged = this.#walk.ask('tags')
    const tags = tagsOf(tagged, name)
    const createdAt = new Date(this.#now())
    return tags.map((tag) => ({ tag, buildId: `theirs-${tag}-${this.#builds}`, createdAt }))
  }

  async requestBuild({ ref }: BuildRequest): Promise<BuildHandle> {
    if (this.#isOver) {
      this.backgroundBuilds += 1
      throw new ResolutionError({ code: 'FORBIDDEN', message: 'the start is over' })
    }
    this.#called(ref)
    this.#walk.ask('requestBuild')
    this.#builds += 1
    return { templateId: 't', buildId: `ours-${this.#builds}` }
  }

  async startBuild(): Promise<void> {
    this.#called()
    this.#walk.ask('startBuild')
  }

  /** A build keeps the state it was first seen in, so that one that goes on is polled until somebody has enough of it. */
  async buildProgress({ buildId }: BuildHandle): Promise<BuildProgress> {
    this.#called()
    const known = this.#ends.get(buildId)
    if (known !== undefined) return known
    const seen = this.#walk.ask('buildProgress')
    if (!isProgress(seen)) throw new TypeError('no progress')
    this.#ends.set(buildId, seen)
    return seen
  }

  async assignTags(): Promise<void> {
    this.#called()
  }

  async removeTags(): Promise<void> {
    throw new TypeError('a resolution removes nothing')
  }

  async listBuilds(): Promise<readonly BuildSummary[]> {
    throw new TypeError('a resolution asks for no list of builds')
  }

  readonly ports: BootPorts<string> = {
    boot: async (ref, _signal, { rung }) => {
      this.#called(ref)
      this.creates.push(`${rung} ${ref}`)
      const sandbox = String(this.#walk.ask('boot'))
      this.sandboxes += 1
      return sandbox
    },
    // What a search finds does not change while it lasts.
    adopt: async (attemptId) => {
      this.#called()
      const decided = this.#adoptions.get(attemptId)
      if (decided !== undefined) return asSandbox(decided())
      try {
        const found = asSandbox(this.#walk.ask('adopt'))
        this.#adoptions.set(attemptId, () => found)
        if (found !== undefined) this.sandboxes += 1
        return found
      } catch (error) {
        this.#adoptions.set(attemptId, () => {
          throw error
        })
        throw error
      }
    },
  }

  #called(ref?: string): void {
    if (this.#isOver) return
    this.calls += 1
    if (ref !== undefined) this.refs.add(ref)
  }
}

/** The names of the specs end in what their tag is: `fallback` and `default` have no earlier build. */
function tagsOf(tagged: unknown, name: string): readonly string[] {
  const exact = name.startsWith('repo') ? ['sha-1', 'unpinned'] : ['default', 'v1']
  const byAnswer: Readonly<Record<Tagged, readonly string[]>> = {
    none: [],
    exact,
    stale: ['current'],
    both: [...exact, 'current'],
  }
  return tagged === 'none' || tagged === 'exact' || tagged === 'stale' || tagged === 'both' ? byAnswer[tagged] : []
}

const asSandbox = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

const isProgress = (value: unknown): value is BuildProgress =>
  typeof value === 'object' && value !== null && 'state' in value && 'logs' in value
