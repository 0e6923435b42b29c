import { type RepoTemplateIdentity, resolveIdentity } from './repo-identity.ts'

/** One input in which two identities differ. */
export interface IdentityDifference {
  /** The input: a field of the identity, or one entry of it, such as `buildEnv.NPM_TOKEN`. */
  readonly field: string
  /** `name`: another template. `tag`: another build of the same one. */
  readonly affects: 'name' | 'tag'
  /** What the first identity says, defaults filled in; `undefined` where it has no such entry. */
  readonly before: string | undefined
  /** What the second says; of a secret only that it is `set` or has `changed`, or its version. */
  readonly after: string | undefined
}

/**
 * Why two identities have different refs: the inputs that differ, in the order the canonical text has them, those that only
 * the second has at the end. Empty exactly where the refs are equal. Inputs that mean the same are no difference, however
 * they are spelled.
 *
 * The value of a build variable and the salt are never shown, whichever their form: only `set`, `changed` or the version.
 * Setup commands and `extra` are shown as they are.
 *
 * @throws IdentityError for any input that is refused; `field` says which.
 */
export function explainIdentity(a: RepoTemplateIdentity, b: RepoTemplateIdentity): readonly IdentityDifference[] {
  const [before, after] = [factsOf(a), factsOf(b)]
  const differences: IdentityDifference[] = []
  for (const field of new Set([...before.keys(), ...after.keys()])) {
    const [old, recent] = [before.get(field), after.get(field)]
    const follows = following.some((name) => name === field && a[name] === undefined && b[name] === undefined)
    if (follows || old?.compared === recent?.compared) continue
    differences.push({
      field,
      affects: field === 'sha' ? 'tag' : 'name',
      before: old?.shown,
      // Two hidden values would read alike, as if nothing had happened.
      after: old !== undefined && old.shown === recent?.shown ? 'changed' : recent?.shown,
    })
  }
  return differences
}

/** Their default follows from other fields: where both identities leave one out, nothing but those others differs. */
const following = ['workingDirectory', 'baseTemplateId'] as const

interface Fact {
  /** Decides whether two are the same. */
  readonly compared: string
  /** What a person may see. */
  readonly shown: string | undefined
}

const HIDDEN = 'set'

const factsOf = (identity: RepoTemplateIdentity): ReadonlyMap<string, Fact> => {
  const { sha, lines } = resolveIdentity(identity)
  const facts = new Map<string, Fact>()
  const plain = (field: string, value: string): unknown => facts.set(field, { compared: value, shown: value })
  if (sha !== undefined) plain('sha', sha)
  const commands: string[] = []
  for (const [field, first = '', second = '', third = ''] of lines) {
    switch (field) {
      case 'setupCommand':
        commands.push(first)
        plain(field, JSON.stringify(commands))
        break
      case 'buildEnv':
        facts.set(`${field}.${first}`, {
          compared: `${second} ${third}`,
          shown: second === 'version' ? `version ${third}` : HIDDEN,
        })
        break
      case 'salt':
        facts.set(field, { compared: first, shown: first === '' ? undefined : HIDDEN })
        break
      case 'extra':
        plain(`${field}.${first}`, second)
        break
      default:
        plain(field, first)
    }
  }
  return facts
}
