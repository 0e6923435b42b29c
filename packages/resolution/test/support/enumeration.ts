import { attemptsOf, bootFromSpec, bootRef, settleBackgroundBuilds, type TemplateSpec } from '@warmbox/resolution'
import { SandboxError, Template } from 'e2b'
import type { Answer } from './answers.ts'
import { Oracle } from './oracle.ts'
import { VirtualClock } from './virtual-clock.ts'
import { type Asked, type Tail, Walk } from './walk.ts'

const builder = Template().fromBaseImage().runCmd('true')
const REF = 'repo:sha-1'
const named = { ref: REF, template: builder }
const stale = { ...named, staleRef: 'repo:current' }
const plain = { ref: 'plain:v1', template: builder }

interface Form {
  readonly name: string
  readonly spec: TemplateSpec | undefined
  readonly strict?: boolean
  /** A create from the exact ref came to nothing shortly before. */
  readonly isSuspect?: boolean
  /** Choices enumerated in full: more for the forms with more rungs. */
  readonly depth: number
}

const FORMS: readonly Form[] = [
  { name: 'no spec', spec: undefined, depth: 4 },
  { name: 'string', spec: 'public:v1', depth: 4 },
  { name: 'string, suspect', spec: REF, isSuspect: true, depth: 4 },
  { name: 'strict string', spec: 'public:v1', strict: true, depth: 4 },
  { name: 'builder', spec: builder, depth: 4 },
  { name: 'function', spec: (base) => base.runCmd('true'), depth: 4 },
  { name: 'named', spec: named, depth: 5 },
  { name: 'named, suspect', spec: stale, isSuspect: true, depth: 5 },
  { name: 'named with an earlier build', spec: stale, depth: 5 },
  { name: 'named with a string to fall back on', spec: { ...stale, fallbackTemplate: 'public:v1' }, depth: 4 },
  { name: 'named with a builder to fall back on', spec: { ...named, fallbackTemplate: builder }, depth: 4 },
  { name: 'named with a named one to fall back on', spec: { ...stale, fallbackTemplate: plain }, depth: 5 },
  { name: 'deferred', spec: { resolveSpec: async () => stale }, depth: 4 },
  {
    name: 'deferred, its name told ahead',
    spec: {
      resolveSpec: async (context) => {
        context?.expectName?.('repo')
        return stale
      },
    },
    depth: 4,
  },
  { name: 'deferred that rejects', spec: { resolveSpec: () => Promise.reject(new Error('no')) }, depth: 4 },
  {
    name: 'unpinned',
    spec: { resolveSpec: async () => ({ ...named, ref: 'repo:current', buildRef: 'repo:unpinned' }) },
    depth: 4,
  },
  {
    name: 'refused',
    spec: { resolveSpec: async () => ({ ...stale, refused: { code: 'NO', message: 'no' }, fallbackTemplate: plain }) },
    depth: 4,
  },
]

/**
 * Most calls one start makes, whatever it is answered, not counting further polls of a build that goes on (those are
 * bounded by `buildTimeoutMs`, here 30 s). Of three candidates each is asked twice, booted four times and searched for
 * four times at most, and gets two builds; a build has four tries, each with two looks of three questions, a request,
 * a start and the polls of thirty seconds.
 */
export const MOST_CALLS = 250

export interface BrokenCase {
  readonly form: string
  readonly rule: string
  readonly answers: readonly string[]
  readonly error: unknown
}

/**
 * Walks depth-first through the answers that starts ask for, through the real driver, and holds each start to what is
 * promised of all. Ends once `limit` cases were walked.
 */
export async function enumerateLadder({ limit = Number.POSITIVE_INFINITY }: { readonly limit?: number } = {}): Promise<{
  readonly cases: number
  readonly mostCalls: number
  readonly broken: readonly BrokenCase[]
}> {
  let cases = 0
  let mostCalls = 0
  const broken: BrokenCase[] = []
  for (const form of FORMS) {
    for (const tail of ['well', 'badly'] satisfies Tail[]) {
      let prefix: readonly number[] | undefined = []
      while (prefix !== undefined && cases < limit) {
        const walk = new Walk(prefix, tail)
        // oxlint-disable-next-line no-await-in-loop -- the next way follows from the answers this one asked for
        const outcome = await start(form, walk)
        prefix = walk.next(form.depth)
        // One that ended within its enumerated choices has no tail, and was walked with the other one.
        if (tail === 'badly' && walk.asked.length <= form.depth) continue
        cases += 1
        mostCalls = Math.max(mostCalls, outcome.oracle.calls)
        for (const rule of brokenRules(form, walk, outcome)) {
          const answers = walk.asked.map(({ answer, question }) => `${question}: ${answer.name}`)
          broken.push({ form: form.name, rule, answers, error: outcome.error })
        }
      }
    }
  }
  return { cases, mostCalls, broken }
}

interface Outcome {
  readonly oracle: Oracle
  readonly booted: boolean
  readonly error: unknown
  readonly told: readonly { readonly rung: string; readonly ref: string }[]
}

async function start({ isSuspect = false, spec, strict = false }: Form, walk: Walk): Promise<Outcome> {
  const clock = new VirtualClock()
  const oracle = new Oracle(walk, () => clock.now())
  if (isSuspect) await makeSuspect(oracle, clock)
  const options = { api: oracle, clock, random: () => 0.5, buildTimeoutMs: 30_000, strictTemplate: strict }
  try {
    const { attempts } = await bootFromSpec(spec, { ...options, ...oracle.ports })
    oracle.end()
    await settleBackgroundBuilds()
    return { oracle, booted: true, error: undefined, told: attempts }
  } catch (error) {
    oracle.end()
    await settleBackgroundBuilds()
    return { oracle, booted: false, error, told: attemptsOf(error) }
  }
}

async function makeSuspect(api: Oracle, clock: VirtualClock): Promise<void> {
  const lost = Object.assign(new SandboxError('500: lost'), { statusCode: 500 })
  const attempt = bootRef(REF, { api, clock, boot: () => Promise.reject(lost), adopt: async () => undefined })
  await attempt.catch(() => undefined)
}

function brokenRules(form: Form, { asked }: Walk, { booted, error, oracle, told }: Outcome): readonly string[] {
  const after = (means: NonNullable<Answer['means']>): readonly Asked[] => {
    const place = asked.findIndex(({ answer }) => answer.means === means)
    return place === -1 ? [] : asked.slice(place + 1)
  }
  const refs = new Set(told.map(({ ref }) => ref))
  const rungs = new Set(told.map(({ rung, ref }) => `${rung} ${ref}`))
  const rules: readonly [string, boolean][] = [
    ['ends within its bound', oracle.calls <= MOST_CALLS],
    ['has at most one sandbox, adopted ones counted', oracle.sandboxes <= 1],
    ['has a sandbox or an error', booted === (oracle.sandboxes === 1) && booted === (error === undefined)],
    ['asks nothing after a refused key or a refused create', after('ends').length === 0],
    ['builds nothing after a limit', !after('limits').some(isBuild)],
    ['builds nothing in the background after a limit', after('limits').length === 0 || oracle.backgroundBuilds === 0],
    ['goes no lower after an ambiguous create', form.isSuspect === true || after('ambiguous').every(isAdoption)],
    ['goes lower from a suspect only where nothing came of the create', leavesSuspectsRightly(asked)],
    ['names every rung it booted from', oracle.creates.every((create) => rungs.has(create))],
    ['names every ref it asked for, booted or built', [...oracle.refs].every((ref) => refs.has(ref))],
    ['says so in the message', !isExhausted(error) || told.every(({ ref }) => error.message.includes(ref))],
  ]
  return rules.filter(([, holds]) => !holds).map(([rule]) => rule)
}

const isBuild = ({ question }: Asked): boolean => question === 'requestBuild'

const isAdoption = ({ question }: Asked): boolean => question === 'adopt'

/** After an ambiguous create comes the search; only its answer that there is nothing may be followed by anything else. */
function leavesSuspectsRightly(asked: readonly Asked[]): boolean {
  return asked.every(({ answer }, place) => {
    if (answer.means !== 'ambiguous') return true
    const [search, next] = asked.slice(place + 1)
    return search !== undefined && isAdoption(search) && (next === undefined || search.answer.name === 'absent')
  })
}

const isExhausted = (error: unknown): error is Error & { readonly code: 'LADDER_EXHAUSTED' } =>
  error instanceof Error && 'code' in error && error.code === 'LADDER_EXHAUSTED'
