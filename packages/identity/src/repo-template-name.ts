import { type Line, writeText } from './canonical-text.ts'
import { NAME_DIGITS, nameHash } from './digest.ts'
import { nothingElse, record } from './input.ts'
import { REF_PART_LENGTH } from './limits.ts'
import { type RepoTemplateIdentity, resolveIdentity } from './repo-identity.ts'
import { foldName } from './template-ref.ts'

/** How a repository's template is named. */
export interface RepoTemplateNameOptions {
  /** What stands before `-<hash>`: `a-z 0-9 - _`. Default `mastra-repo`. */
  prefix?: string | undefined
}

const DEFAULT_PREFIX = 'mastra-repo'
/** What a prefix may be long beside the hash and the dash before it. */
const PREFIX_LENGTH = REF_PART_LENGTH - NAME_DIGITS - 1
/** The tag that follows a repository's default branch, and that a template of no known commit has. */
const CURRENT_TAG = 'current'

/**
 * The template's ref: `<prefix>-<hash>:sha-<sha>`, or `<prefix>-<hash>:current` without a sha. The same inputs give the same ref
 * on every machine, runtime and locale, for as long as {@link IDENTITY_SCHEME} stays.
 *
 * @throws IdentityError for any input that is refused; `field` says which.
 */
export function repoTemplateRef(identity: RepoTemplateIdentity, options: RepoTemplateNameOptions = {}): string {
  const { sha, lines } = resolveIdentity(identity)
  return `${nameOf(lines, options)}:${sha === undefined ? CURRENT_TAG : `sha-${sha}`}`
}

/** The template's name, without a tag: what all commits of a repository with the same inputs share. */
export function repoTemplateName(identity: RepoTemplateIdentity, options: RepoTemplateNameOptions = {}): string {
  return nameOf(resolveIdentity(identity).lines, options)
}

/**
 * The text the name is a hash of; SCHEME.md describes it to the byte. It holds the values of build variables that have
 * no version, and the salt: treat it as a secret.
 */
export function canonicalText(identity: RepoTemplateIdentity): string {
  return writeText('repo', resolveIdentity(identity).lines)
}

const nameOf = (lines: readonly Line[], options: RepoTemplateNameOptions): string => {
  record(options, 'options')
  const { prefix, ...rest } = options
  nothingElse(rest, 'options')
  const start = prefix === undefined ? DEFAULT_PREFIX : foldName(prefix, 'prefix', PREFIX_LENGTH)
  return `${start}-${nameHash(writeText('repo', lines))}`
}
