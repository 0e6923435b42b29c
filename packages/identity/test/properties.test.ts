import {
  type BuildEnvValue,
  canonicalText,
  parseTemplateRef,
  type RepoTemplateIdentity,
  repoTemplateName,
  repoTemplateRef,
} from '@warmbox/identity'
import { fc, test as property } from '@fast-check/vitest'
import { expect } from 'vitest'
import { identities } from './arbitrary.ts'

property.prop([identities])('any ref is one E2B takes', (identity) => {
  const ref = repoTemplateRef(identity)
  const { name, tag } = parseTemplateRef(ref)
  expect(ref).toBe(`${name}:${tag}`)
})

property.prop([identities])('the order of entries and fields never matters', (identity) => {
  const other = reversed({
    ...identity,
    buildEnv: reversed<BuildEnvValue>(identity.buildEnv ?? {}),
    extra: reversed(identity.extra ?? {}),
  })
  expect(Reflect.apply(canonicalText, undefined, [other])).toBe(canonicalText(identity))
})

/** Two identities that differ in few fields or in none: the second takes some fields of its own over the first's. */
const neighbours = fc
  .tuple(identities, identities, fc.array(fc.nat(11), { maxLength: 2 }))
  .map(([left, own, picks]) => {
    const ownEntries = Object.entries(own)
    const picked = ownEntries.filter((_, index) => picks.includes(index))
    const right: RepoTemplateIdentity = { ...left, ...Object.fromEntries(picked) }
    return [left, right] as const
  })

property.prop([neighbours], { numRuns: 1000 })(
  'two identities share a text, and with it a name, exactly where they mean the same',
  ([left, right]) => {
    const same = meaning(left) === meaning(right)
    expect(canonicalText(left) === canonicalText(right)).toBe(same)
    expect(repoTemplateName(left) === repoTemplateName(right)).toBe(same)
  },
)

property.prop([identities])('the lengths alone give back what was written', (identity) => {
  const fields = readBack(canonicalText(identity))
  expect(fields.filter(([field]) => field === 'setupCommand')).toEqual(
    commandsOf(identity).map((command) => ['setupCommand', command]),
  )
  expect(fields.filter(([field]) => field === 'buildEnv')).toEqual(
    Object.entries(identity.buildEnv ?? {})
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, given]) =>
        typeof given === 'string' ? ['buildEnv', name, 'value', given] : ['buildEnv', name, 'version', given.version],
      ),
  )
  expect(fields.filter(([field]) => field === 'extra')).toEqual(
    Object.entries(identity.extra ?? {})
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, value]) => ['extra', key, value]),
  )
  expect(fields.filter(([field]) => field === 'salt')).toEqual([['salt', identity.salt ?? '']])
})

function reversed<T>(record: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(record).toReversed())
}

function commandsOf({ setupCommand = [] }: RepoTemplateIdentity): readonly string[] {
  return (typeof setupCommand === 'string' ? [setupCommand] : setupCommand).filter((command) =>
    /[^\t\n\r ]/.test(command),
  )
}

/** What an identity says, written down in another way than the package does. */
function meaning(identity: RepoTemplateIdentity): string {
  return JSON.stringify([
    identity.cloneUrl.toLowerCase().replace(/\.git$/, ''),
    commandsOf(identity),
    Object.entries(identity.buildEnv ?? {})
      .map(([name, given]) => JSON.stringify(typeof given === 'string' ? [name, [given]] : [name, given.version]))
      .toSorted((a, b) => (a < b ? -1 : 1)),
    identity.cpuCount ?? 2,
    identity.memoryMB ?? 1024,
    identity.workingDirectory ?? null,
    identity.submodules ?? false,
    identity.lfs ?? false,
    identity.baseTemplateId ?? null,
    identity.salt ?? '',
    Object.entries(identity.extra ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1)),
  ])
}

/** Reads a canonical text by its lengths, never looking for a line feed inside a value. */
function readBack(text: string): string[][] {
  const bytes = Buffer.from(text)
  const lines: string[][] = []
  let at = bytes.indexOf('\n') + 1
  while (at < bytes.length) {
    const space = bytes.indexOf(' ', at)
    const line = [bytes.toString('utf8', at, space)]
    at = space
    while (bytes[at] === 0x20) {
      const colon = bytes.indexOf(':', at)
      const end = colon + 1 + Number(bytes.toString('utf8', at + 1, colon))
      line.push(bytes.toString('utf8', colon + 1, end))
      at = end
    }
    if (bytes[at] !== 0x0a) throw new Error(`no line feed behind ${JSON.stringify(line)}`)
    at += 1
    lines.push(line)
  }
  return lines
}
