import { execFile, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import {
  contentTemplateName,
  contentTemplateText,
  IdentityError,
  type RepoTemplateIdentity,
  canonicalText,
  repoTemplateRef,
} from '@warmbox/identity'
import { fc } from '@fast-check/vitest'
import { beforeAll, describe, expect, test } from 'vitest'
import { identities } from './arbitrary.ts'
import { readVectors } from './vectors.ts'

const hasPython = spawnSync('python3', ['-c', 'import sys; sys.exit(sys.version_info < (3, 8))']).status === 0

interface Request {
  readonly kind: 'repo' | 'mountable' | 'content'
  readonly identity: unknown
  readonly prefix?: string | undefined
}

/** One process answers all groups: starting it is what takes time. */
const secondImplementation = async (
  groups: Readonly<Record<string, readonly Request[]>>,
): Promise<ReadonlyMap<string, unknown>> => {
  const script = fileURLToPath(new URL('scheme.py', import.meta.url))
  const output = await new Promise<string>((resolve, reject) => {
    const child = execFile('python3', [script], { maxBuffer: 2 ** 28 }, (error, stdout) =>
      error === null ? resolve(stdout) : reject(error),
    )
    child.stdin?.end(JSON.stringify(Object.values(groups).flat()))
  })
  const answers: readonly unknown[] = JSON.parse(output)
  let start = 0
  return new Map(
    Object.entries(groups).map(([name, requests]) => [name, answers.slice(start, (start += requests.length))]),
  )
}

type Answer = { readonly text: string; readonly ref: string } | { readonly code: string }

const firstImplementation = (identity: RepoTemplateIdentity): Answer => {
  try {
    return { text: canonicalText(identity), ref: repoTemplateRef(identity) }
  } catch (error) {
    if (error instanceof IdentityError) return { code: error.code }
    throw error
  }
}

/** Identities most of which are refused: any text where text goes, and URLs assembled from pieces good and bad. */
const anyText = fc.oneof(fc.string({ unit: 'binary', maxLength: 6 }), fc.string({ maxLength: 6 }))
const urlPieces = fc.array(
  fc.constantFrom(
    '/',
    ':',
    '@',
    'a',
    '.',
    '..',
    '.git',
    '_git',
    '%2e',
    '%2F',
    '%c3%bc',
    '%ff',
    '[',
    ']',
    '::1',
    '443',
    '0',
    '0x1',
    '1.2.3.4',
    '?',
    '#',
    '-',
    ' ',
  ),
  { maxLength: 7 },
)
const wildIdentities: fc.Arbitrary<RepoTemplateIdentity> = fc.record(
  {
    cloneUrl: fc.oneof(
      urlPieces.map((pieces) => `https://h.example/o/r${pieces.join('')}`),
      urlPieces.map((pieces) => `https://h${pieces.join('')}/o/r`),
      urlPieces.map((pieces) => `https://${pieces.join('')}`),
      urlPieces.map((pieces) => `https://[${pieces.join(':')}]/r`),
      fc.ipV6().map((address) => `https://[${address}]/r`),
      fc.webUrl({ validSchemes: ['https', 'http'], withFragments: true, withQueryParameters: true }),
    ),
    setupCommand: fc.oneof(anyText, fc.array(anyText, { maxLength: 2 })),
    buildEnv: fc.dictionary(fc.oneof(anyText, fc.constantFrom('A', 'B_')), anyText, { maxKeys: 2 }),
    workingDirectory: fc.oneof(
      anyText,
      anyText.map((text) => `/a/${text}`),
    ),
    baseTemplateId: fc.oneof(
      anyText,
      fc.stringMatching(/^[a-cA-C ._/:-]{1,6}$/),
      fc.uuid().map((id) => `a:${id}`),
    ),
    salt: anyText,
    extra: fc.dictionary(anyText, anyText, { maxKeys: 3 }),
  },
  { requiredKeys: ['cloneUrl'] },
)

describe.skipIf(!hasPython)('scheme.py, written from SCHEME.md alone (skipped where python3 is missing)', () => {
  let answers: ReadonlyMap<string, unknown>
  const template = { template: 'ü😀\n'.repeat(10_000), cpuCount: 2, memoryMB: 1024 }
  // The seed is fixed, since a disagreement must come back until it is understood.
  const random = [
    ...fc.sample(identities, { numRuns: 300, seed: 1 }),
    ...fc.sample(wildIdentities, { numRuns: 1000, seed: 1 }),
  ]

  beforeAll(async () => {
    const vectors = await readVectors()
    const groups: Readonly<Record<string, readonly Request[]>> = {
      repo: vectors.repo.map(({ identity, prefix }) => ({ kind: 'repo', identity, prefix })),
      mountable: vectors.mountable.map(({ identity }) => ({ kind: 'mountable', identity })),
      content: vectors.content.map(({ identity }) => ({ kind: 'content', identity })),
      refused: vectors.refused.map(({ identity }) => ({ kind: 'repo', identity })),
      random: random.map((identity) => ({ kind: 'repo', identity })),
      long: [{ kind: 'content', identity: template }],
    }
    answers = await secondImplementation(groups)
  })

  test.each(['repo', 'mountable', 'content'] as const)('gives every %s text and ref of vectors.json', async (kind) => {
    const vectors = await readVectors()
    expect(answers.get(kind)).toEqual(vectors[kind].map(({ text, ref }) => ({ text, ref })))
  })

  test('refuses what vectors.json says is refused, with the same code', async () => {
    const { refused } = await readVectors()
    expect(answers.get('refused')).toEqual(refused.map(({ code }) => ({ code })))
  })

  test('agrees on inputs nobody chose, accepted and refused ones', () => {
    const own = random.map(firstImplementation)
    expect(answers.get('random')).toEqual(own)
    expect(new Set(own.map((answer) => ('code' in answer ? answer.code : 'accepted'))).size).toBeGreaterThan(10)
  })

  test('agrees on a template of many bytes', () => {
    expect(answers.get('long')).toEqual([{ text: contentTemplateText(template), ref: contentTemplateName(template) }])
  })
})
