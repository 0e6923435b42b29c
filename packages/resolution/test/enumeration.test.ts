import {
  bootFromSpec,
  type BuildHandle,
  type BuildProgress,
  ResolutionError,
  type TagAssignment,
  type TemplateApi,
  type TemplateStatus,
} from '@warmbox/resolution'
import { expect, test } from 'vitest'
import { problem } from './support/fake-platform.ts'
import { VirtualClock } from './support/virtual-clock.ts'
import { createAnswer, named, STALE } from './support/world.ts'

type Answer = () => unknown

const give =
  <T>(value: T): (() => T) =>
  () =>
    value
const fail = (error: unknown): (() => never) => {
  return () => {
    throw error
  }
}

const progress = (state: BuildProgress['state'], failure?: BuildProgress['failure']): BuildProgress => ({
  state,
  logs: [],
  ...(failure === undefined ? {} : { failure }),
})
const createdAt = new Date('2026-01-01T00:00:00Z')

/** What each question may be answered with. `tags` alone depends on the ref: it names a build of that tag, or none. */
const ANSWERS = {
  status: [give('ready'), give('missing'), give('foreign'), fail(problem('PLATFORM')), fail(problem('AUTHENTICATION'))],
  look: [give(false), give(true), fail(problem('NETWORK'))],
  requestBuild: [
    give(undefined),
    fail(problem('QUOTA_EXCEEDED')),
    fail(problem('CONFLICT')),
    fail(problem('AUTHENTICATION')),
    fail(problem('FORBIDDEN')),
  ],
  buildProgress: [
    give(progress('ready')),
    give(progress('error', { message: 'exit 1', step: '3' })),
    give(progress('error', { message: 'node lost' })),
  ],
  boot: [give('sandbox'), fail(createAnswer(404, 'not found')), fail(createAnswer(500, 'no node'))],
} satisfies Record<string, readonly Answer[]>

type Question = keyof typeof ANSWERS

interface Asked {
  readonly question: Question
  readonly choice: number
}

/** One way through the answers. Beyond `prefix` it takes the first answer each time. */
class Walk {
  readonly asked: Asked[] = []
  readonly #prefix: readonly number[]
  #isOver = false

  constructor(prefix: readonly number[]) {
    this.#prefix = prefix
  }

  /** The start is over. What a background build asks from now on is not part of the walk, and is refused. */
  end(): void {
    this.#isOver = true
  }

  choose(question: Question): unknown {
    if (this.#isOver) throw problem('AUTHENTICATION')
    const choice = this.#prefix[this.asked.length] ?? 0
    this.asked.push({ question, choice })
    const answer: Answer | undefined = ANSWERS[question][choice]
    if (answer === undefined) throw new Error(`No answer ${choice} to ${question}`)
    return answer()
  }

  /** The next way in depth-first order that keeps to `depth` decisions, if there is one. */
  next(depth: number): readonly number[] | undefined {
    const choices = this.asked.slice(0, depth)
    while (choices.length > 0) {
      const last = choices.pop()
      if (last === undefined) return undefined
      const following = last.choice + 1
      if (following < ANSWERS[last.question].length) return [...choices.map(({ choice }) => choice), following]
    }
    return undefined
  }
}

let scopes = 0

class AnsweringApi implements TemplateApi {
  readonly scope = `enumeration-${(scopes += 1)}`
  readonly #walk: Walk
  constructor(walk: Walk) {
    this.#walk = walk
  }
  async status(): Promise<TemplateStatus> {
    const status = this.#walk.choose('status')
    if (status === 'ready' || status === 'missing' || status === 'foreign') return status
    throw new TypeError('no status')
  }
  async templateId(name: string): Promise<string> {
    return `id-of-${name}`
  }
  async tags(): Promise<readonly TagAssignment[]> {
    const isThere = this.#walk.choose('look') === true
    return isThere ? ['sha-1', 'default'].map((tag) => ({ tag, buildId: 'theirs', createdAt })) : []
  }
  async requestBuild(): Promise<BuildHandle> {
    this.#walk.choose('requestBuild')
    return { templateId: 't', buildId: 'ours' }
  }
  async startBuild(): Promise<void> {
    await Promise.resolve()
  }
  async buildProgress({ buildId }: BuildHandle, logsOffset: number): Promise<BuildProgress> {
    // Looking at somebody else's build finds it running; following any build is what is enumerated.
    if (buildId === 'theirs' && logsOffset === 0 && !this.#followed.has(buildId)) {
      this.#followed.add(buildId)
      return progress('building')
    }
    const end = this.#walk.choose('buildProgress')
    this.#followed.delete(buildId)
    return isProgress(end) ? end : progress('error')
  }
  async assignTags(): Promise<void> {
    await Promise.resolve()
  }
  readonly #followed = new Set<string>()
}

const isProgress = (value: unknown): value is BuildProgress =>
  typeof value === 'object' && value !== null && 'state' in value && 'logs' in value

interface Outcome {
  readonly walk: Walk
  readonly sandboxes: number
  readonly error: unknown
}

async function run(prefix: readonly number[]): Promise<Outcome> {
  const walk = new Walk(prefix)
  let sandboxes = 0
  const boot = async (): Promise<unknown> => {
    const sandbox = walk.choose('boot')
    sandboxes += 1
    walk.end()
    return sandbox
  }
  const spec = named({ staleRef: STALE, fallbackTemplate: named({ ref: 'plain:default' }) })
  const options = { api: new AnsweringApi(walk), clock: new VirtualClock(), random: () => 0.5 }
  const booted = bootFromSpec(spec, { ...options, boot })
  const error = await booted.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  return { walk, sandboxes, error }
}

/** Decisions that are enumerated; what follows takes the first answer. */
const DEPTH = 9
/** Questions one start may ask: three candidates, each with a few tries of a build. */
const MOST_QUESTIONS = 60

test('whatever E2B answers, a start ends, with one sandbox at most, and stops where it must', async () => {
  let cases = 0
  const broken: unknown[] = []
  let prefix: readonly number[] | undefined = []
  while (prefix !== undefined && cases < 2_000) {
    // oxlint-disable-next-line no-await-in-loop -- the next way follows from the answers this one asked for
    const { walk, sandboxes, error } = await run(prefix)
    cases += 1
    const answers = walk.asked.map(({ question, choice }) => `${question} ${choice}`)
    /** What was asked after the first such answer. */
    const after = (answer: string): string[] =>
      answers.includes(answer) ? answers.slice(answers.indexOf(answer) + 1) : []
    const rules: [string, boolean][] = [
      ['ends within its bound', answers.length <= MOST_QUESTIONS],
      ['makes at most one sandbox', sandboxes <= 1],
      ['has a sandbox or an error', (sandboxes === 1) !== (error !== undefined)],
      ['asks nothing after an ambiguous create', after('boot 2').length === 0],
      ['asks nothing after a refused key', [...after('status 4'), ...after('requestBuild 3')].length === 0],
      ['requests no build after a quota', !after('requestBuild 1').some(isRequest)],
      ['tells every rung when nothing worked', !isExhausted(error) || error.attempts.length >= 2],
    ]
    broken.push(...rules.filter(([, holds]) => !holds).map(([rule]) => ({ rule, answers, error })))
    prefix = walk.next(DEPTH)
  }
  expect(broken.slice(0, 3)).toEqual([])
  expect(cases).toBeGreaterThan(1_000)
}, 60_000)

const isRequest = (answer: string): boolean => answer.startsWith('requestBuild')
const isExhausted = (error: unknown): error is ResolutionError =>
  error instanceof ResolutionError && error.code === 'LADDER_EXHAUSTED'
