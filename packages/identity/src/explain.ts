import { type RepoTemplateIdentity, type ResolvedRepoIdentity, resolveRepoIdentity } from './repo-identity.ts'
import { byCodeUnit } from './text.ts'

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
 * Why two identities have different refs: the inputs that differ, in the order the canonical text has them. Empty exactly
 * where the refs are equal. Inputs that mean the same are no difference, however they are spelled.
 *
 * The value of a build variable and the salt are never shown, whichever their form: only `set`, `changed` or the version.
 * Setup commands and `extra` are shown as they are.
 *
 * @throws IdentityError for any input that is refused; `field` says which.
 */
export function explainIdentity(a: RepoTemplateIdentity, b: RepoTemplateIdentity): readonly IdentityDifference[] {
  const [before, after] = [describe(resolveRepoIdentity(a)), describe(resolveRepoIdentity(b))]
  const differences: IdentityDifference[] = []
  for (const field of fieldsOf(before, after)) {
    const [old, recent] = [before.get(field), after.get(field)]
    if (old?.compared === recent?.compared) continue
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

interface Description {
  /** Decides whether two are the same. */
  readonly compared: string
  /** What a person may see. */
  readonly shown: string
}

const plain = (value: string): Description => ({ compared: value, shown: value })

const HIDDEN = 'set'

const describe = (identity: ResolvedRepoIdentity): ReadonlyMap<string, Description> => {
  const described = new Map<string, Description>()
  if (identity.sha !== undefined) described.set('sha', plain(identity.sha))
  described.set('cloneUrl', plain(identity.cloneUrl.canonical))
  if (identity.setupCommands.length > 0) described.set('setupCommand', plain(JSON.stringify(identity.setupCommands)))
  for (const { name, kind, text } of identity.buildEnv) {
    described.set(`buildEnv.${name}`, {
      compared: `${kind} ${text}`,
      shown: kind === 'version' ? `version ${text}` : HIDDEN,
    })
  }
  described.set('cpuCount', plain(String(identity.cpuCount)))
  described.set('memoryMB', plain(String(identity.memoryMB)))
  described.set('workingDirectory', plain(identity.workingDirectory))
  described.set('submodules', plain(String(identity.submodules)))
  described.set('lfs', plain(String(identity.lfs)))
  described.set('baseTemplateId', plain(identity.baseTemplateId))
  if (identity.salt !== '') described.set('salt', { compared: identity.salt, shown: HIDDEN })
  for (const [key, value] of identity.extra) described.set(`extra.${key}`, plain(value))
  return described
}

const order = [
  'sha',
  'cloneUrl',
  'setupCommand',
  'buildEnv',
  'cpuCount',
  'memoryMB',
  'workingDirectory',
  'submodules',
  'lfs',
  'baseTemplateId',
  'salt',
  'extra',
]

/** Every field of either, in the canonical text's order, entries of one field by code unit. */
const fieldsOf = (
  before: ReadonlyMap<string, Description>,
  after: ReadonlyMap<string, Description>,
): readonly string[] =>
  [...new Set([...before.keys(), ...after.keys()])].toSorted(
    (left, right) => rank(left) - rank(right) || byCodeUnit(left, right),
  )

const rank = (field: string): number => order.indexOf(field.split('.', 1)[0] ?? field)
