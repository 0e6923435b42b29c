import { entryLine, header, line } from './canonical-text.ts'
import { NAME_DIGITS, nameHash } from './digest.ts'
import { LIMITS } from './limits.ts'
import { type RepoTemplateIdentity, type ResolvedRepoIdentity, resolveRepoIdentity } from './repo-identity.ts'
import { foldPrefix } from './template-ref.ts'

/** How a repository's template is named. */
export interface RepoTemplateNameOptions {
  /** What stands before `-<hash>`: `a-z 0-9 - _`. Default `mastra-repo`. */
  prefix?: string | undefined
}

const DEFAULT_PREFIX = 'mastra-repo'
/** What a prefix may be long beside the hash and the dash before it. */
const PREFIX_LENGTH = LIMITS.refPart - NAME_DIGITS - 1
/** The tag that follows a repository's default branch, and that a template of no known commit has. */
const CURRENT_TAG = 'current'

/**
 * The template's ref: `<prefix>-<hash>:sha-<sha>`, or `<prefix>-<hash>:current` without a sha. The same inputs give the same ref
 * on every machine, runtime and locale, for as long as {@link IDENTITY_SCHEME} stays.
 *
 * @throws IdentityError for any input that is refused; `field` says which.
 */
export function repoTemplateRef(identity: RepoTemplateIdentity, options: RepoTemplateNameOptions = {}): string {
  const resolved = resolveRepoIdentity(identity)
  return `${nameOf(resolved, options)}:${resolved.sha === undefined ? CURRENT_TAG : `sha-${resolved.sha}`}`
}

/** The template's name, without a tag: what all commits of a repository with the same inputs share. */
export function repoTemplateName(identity: RepoTemplateIdentity, options: RepoTemplateNameOptions = {}): string {
  return nameOf(resolveRepoIdentity(identity), options)
}

/**
 * The text the name is a hash of; SCHEME.md describes it to the byte. It holds the values of build variables that have
 * no version, and the salt: treat it as a secret.
 */
export function canonicalText(identity: RepoTemplateIdentity): string {
  return textOf(resolveRepoIdentity(identity))
}

const nameOf = (identity: ResolvedRepoIdentity, options: RepoTemplateNameOptions): string => {
  const prefix = options.prefix === undefined ? DEFAULT_PREFIX : foldPrefix(options.prefix, PREFIX_LENGTH)
  return `${prefix}-${nameHash(textOf(identity))}`
}

const textOf = (identity: ResolvedRepoIdentity): string => {
  let text = header('repo') + line('cloneUrl', identity.cloneUrl.canonical)
  for (const command of identity.setupCommands) text += line('setupCommand', command)
  for (const { name, kind, text: known } of identity.buildEnv) text += entryLine('buildEnv', name, kind, known)
  text +=
    line('cpuCount', String(identity.cpuCount)) +
    line('memoryMB', String(identity.memoryMB)) +
    line('workingDirectory', identity.workingDirectory) +
    line('submodules', String(identity.submodules)) +
    line('lfs', String(identity.lfs)) +
    line('baseTemplateId', identity.baseTemplateId) +
    line('salt', identity.salt)
  for (const [key, value] of identity.extra) text += entryLine('extra', key, value)
  // A field added after scheme 1 goes here and is left out at its default, so that it renames nothing.
  return text
}
