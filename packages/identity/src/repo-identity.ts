import type { Line } from './canonical-text.ts'
import { parseCloneUrl } from './clone-url.ts'
import { SANDBOX_HOME } from './constants.ts'
import { refuse } from './identity-error.ts'
import { assertSha, list, nonEmptyText, nothingElse, record, sortedEntries, text } from './input.ts'
import { LINE_LENGTH, NAME_LENGTH, VALUE_LENGTH } from './limits.ts'
import { defaultMountableTemplateId } from './mountable-template.ts'
import { type Resources, sizeOf } from './resources.ts'
import { normalizeRef } from './template-ref.ts'
import { normalizeWorkingDirectory } from './working-directory.ts'

/**
 * A build variable. As a string its value is part of the identity. With a `version` the version is, and the value is
 * not: a rotated token keeps the template, a new version renames it.
 */
export type BuildEnvValue = string | { readonly value: string; readonly version: string }

/** The inputs that decide which template a repository's sandboxes start from. Absent and default are the same. */
export interface RepoTemplateIdentity {
  /** The https clone URL; see {@link parseCloneUrl} for what counts as the same repository. */
  cloneUrl: string
  /** Full commit id. Becomes the tag; the name never depends on it. */
  sha?: string | undefined
  /** Shell commands run in the checkout, in order. One string equals a list of one; blank commands do not count. */
  setupCommand?: string | readonly string[] | undefined
  /** Variables the setup commands see. Their order does not count. */
  buildEnv?: Readonly<Record<string, BuildEnvValue>> | undefined
  /** vCPUs: 1 or an even number up to 32. Default 2. */
  cpuCount?: number | undefined
  /** Memory in MiB: even, at least 128. Default 1024. */
  memoryMB?: number | undefined
  /** Absolute directory of the checkout. Default `/home/user/<repository directory>`. */
  workingDirectory?: string | undefined
  /** Whether submodules are checked out. Default false. */
  submodules?: boolean | undefined
  /** Whether Git LFS files are checked out. Default false. */
  lfs?: boolean | undefined
  /** Template the image starts from. Default: the default mountable template at this size. */
  baseTemplateId?: string | undefined
  /** Any text. Keeps tenants apart, and keeps a name from betraying inputs that are easy to guess. Default empty. */
  salt?: string | undefined
  /** Further inputs of the caller's own, such as a lockfile's hash. Their order does not count. Not for secrets. */
  extra?: Readonly<Record<string, string>> | undefined
}

/** A repository identity with every default filled in and everything in its one spelling. */
export interface ResolvedIdentity {
  readonly sha: string | undefined
  /** Everything but the sha, in the order of the canonical text. */
  readonly lines: readonly Line[]
}

/** Checks every input and fills in every default. */
export const resolveIdentity = (identity: RepoTemplateIdentity): ResolvedIdentity => {
  record(identity, 'identity')
  const {
    cloneUrl,
    sha,
    setupCommand = [],
    buildEnv = {},
    cpuCount,
    memoryMB,
    workingDirectory,
    submodules,
    lfs,
    baseTemplateId,
    salt = '',
    extra = {},
    ...rest
  } = identity
  nothingElse(rest, 'identity', '', 'Own inputs go into extra.')
  const { canonical, directory } = parseCloneUrl(cloneUrl)
  const size = sizeOf(cpuCount, memoryMB)
  const lines: Line[] = [['cloneUrl', canonical]]
  for (const command of typeof setupCommand === 'string' ? [setupCommand] : list(setupCommand, 'setupCommand')) {
    const line = text(command, 'setupCommand', VALUE_LENGTH)
    if (/[^\t\n\r ]/.test(line)) lines.push(['setupCommand', line])
  }
  for (const [name, given] of sortedEntries(buildEnv, 'buildEnv')) lines.push(buildEnvLine(name, given))
  lines.push(
    ['cpuCount', `${size.cpuCount}`],
    ['memoryMB', `${size.memoryMB}`],
    [
      'workingDirectory',
      workingDirectory === undefined ? `${SANDBOX_HOME}/${directory}` : normalizeWorkingDirectory(workingDirectory),
    ],
    flagLine('submodules', submodules),
    flagLine('lfs', lfs),
    [
      'baseTemplateId',
      baseTemplateId === undefined ? defaultBaseTemplateId(size) : normalizeRef(baseTemplateId, 'baseTemplateId'),
    ],
    ['salt', text(salt, 'salt', LINE_LENGTH)],
  )
  for (const [key, value] of sortedEntries(extra, 'extra')) {
    lines.push(['extra', nonEmptyText(key, 'extra', NAME_LENGTH), text(value, `extra.${key}`, VALUE_LENGTH)])
  }
  // A field added after scheme 1 goes here and is left out at its default, so that it renames nothing.
  return { sha: sha === undefined ? sha : assertSha(sha), lines }
}

const buildEnvLine = (name: string, given: unknown): Line => {
  if (name.length > NAME_LENGTH || !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
    refuse(
      'ENV_NAME_INVALID',
      'buildEnv',
      `has the invalid name ${JSON.stringify(name.slice(0, 64))}`,
      'Use letters, digits and _.',
    )
  }
  const field = `buildEnv.${name}`
  if (typeof given === 'string') return ['buildEnv', name, 'value', text(given, field, VALUE_LENGTH)]
  const { value, version, ...rest } = record(given, field)
  nothingElse(rest, field, `${field}.`)
  text(value, `${field}.value`, VALUE_LENGTH)
  return ['buildEnv', name, 'version', nonEmptyText(version, `${field}.version`, NAME_LENGTH)]
}

const flagLine = (field: string, flag: unknown = false): Line =>
  typeof flag === 'boolean' ? [field, `${flag}`] : refuse('INPUT_TYPE', field, 'must be true or false')

let lastBase: { readonly size: string; readonly id: string } | undefined

/** Remembers the last size's id: a host mostly names one size, and a second hash would double the cost of every name. */
const defaultBaseTemplateId = (resources: Resources): string => {
  const size = `${resources.cpuCount} ${resources.memoryMB}`
  if (lastBase?.size !== size) lastBase = { size, id: defaultMountableTemplateId(resources) }
  return lastBase.id
}
