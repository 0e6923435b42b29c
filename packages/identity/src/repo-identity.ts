import { type CloneUrl, parseCloneUrl } from './clone-url.ts'
import { SANDBOX_HOME } from './constants.ts'
import { IdentityError } from './identity-error.ts'
import { LIMITS } from './limits.ts'
import { mountableTemplateId } from './mountable-template.ts'
import { resolveResources } from './resources.ts'
import { assertSha } from './sha.ts'
import { formatTemplateRef, readRef } from './template-ref.ts'
import { assertBounded, assertCount, assertKnownFields, assertRecord, assertText, sortedKeys } from './text.ts'
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

/** What of a build variable is part of the identity. */
export interface ResolvedBuildEnv {
  readonly name: string
  readonly kind: 'value' | 'version'
  readonly text: string
}

/** A repository identity with every default filled in and everything in its one spelling. */
export interface ResolvedRepoIdentity {
  readonly cloneUrl: CloneUrl
  readonly sha: string | undefined
  readonly setupCommands: readonly string[]
  readonly buildEnv: readonly ResolvedBuildEnv[]
  readonly cpuCount: number
  readonly memoryMB: number
  readonly workingDirectory: string
  readonly submodules: boolean
  readonly lfs: boolean
  readonly baseTemplateId: string
  readonly salt: string
  readonly extra: ReadonlyArray<readonly [key: string, value: string]>
}

const knownFields: ReadonlySet<string> = new Set<keyof RepoTemplateIdentity>([
  'cloneUrl',
  'sha',
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
])

const envName = /^[A-Za-z_][A-Za-z0-9_]*$/
const blank = /^[\t\n\r ]*$/

/** Checks every input and fills in every default. */
export const resolveRepoIdentity = (identity: RepoTemplateIdentity): ResolvedRepoIdentity => {
  assertRecord(identity, 'identity')
  assertKnownFields(identity, knownFields, 'identity')
  const cloneUrl = parseCloneUrl(identity.cloneUrl)
  const { cpuCount, memoryMB } = resolveResources(identity)
  return Object.freeze({
    cloneUrl,
    sha: identity.sha === undefined ? undefined : assertSha(identity.sha),
    setupCommands: resolveSetupCommands(identity.setupCommand),
    buildEnv: resolveBuildEnv(identity.buildEnv),
    cpuCount,
    memoryMB,
    workingDirectory:
      identity.workingDirectory === undefined
        ? `${SANDBOX_HOME}/${cloneUrl.directory}`
        : normalizeWorkingDirectory(identity.workingDirectory),
    submodules: resolveFlag(identity.submodules, 'submodules'),
    lfs: resolveFlag(identity.lfs, 'lfs'),
    baseTemplateId: resolveBaseTemplateId(identity.baseTemplateId, cpuCount, memoryMB),
    salt: resolveSalt(identity.salt),
    extra: resolveExtra(identity.extra),
  })
}

const resolveSetupCommands = (setupCommand: RepoTemplateIdentity['setupCommand']): readonly string[] => {
  if (setupCommand === undefined) return []
  const commands: readonly unknown[] = Array.isArray(setupCommand) ? setupCommand : [setupCommand]
  assertCount(commands.length, 'setupCommand', LIMITS.setupCommands)
  const kept: string[] = []
  for (const command of commands) {
    assertText(command, 'setupCommand', LIMITS.setupCommand)
    if (!blank.test(command)) kept.push(command)
  }
  return kept
}

const resolveBuildEnv = (buildEnv: RepoTemplateIdentity['buildEnv']): readonly ResolvedBuildEnv[] => {
  if (buildEnv === undefined) return []
  assertRecord(buildEnv, 'buildEnv', LIMITS.buildEnvEntries)
  return sortedKeys(buildEnv).map((name) => {
    if (name.length > LIMITS.buildEnvName || !envName.test(name)) {
      throw new IdentityError({
        code: 'ENV_NAME_INVALID',
        field: 'buildEnv',
        message: 'buildEnv has a name no shell variable can have',
        hint: `Use letters, digits and underscores, no digit first, at most ${LIMITS.buildEnvName} of them.`,
      })
    }
    return resolveVariable(name, buildEnv[name])
  })
}

const resolveVariable = (name: string, given: unknown): ResolvedBuildEnv => {
  const field = `buildEnv.${name}`
  if (typeof given === 'string') {
    assertText(given, field, LIMITS.buildEnvValue)
    return { name, kind: 'value', text: given }
  }
  assertRecord(given, field)
  assertKnownFields(given, variableFields, field)
  const { value, version } = given
  assertText(value, `${field}.value`, LIMITS.buildEnvValue)
  assertText(version, `${field}.version`, LIMITS.buildEnvVersion)
  if (version === '') {
    throw new IdentityError({
      code: 'INPUT_REQUIRED',
      field: `${field}.version`,
      message: `${field}.version is empty`,
      hint: 'Give the value a version, such as v1, or pass the value as a plain string.',
    })
  }
  return { name, kind: 'version', text: version }
}

const variableFields: ReadonlySet<string> = new Set(['value', 'version'])

const resolveFlag = (flag: unknown, field: string): boolean => {
  if (flag === undefined || typeof flag === 'boolean') return flag ?? false
  throw new IdentityError({ code: 'INPUT_TYPE', field, message: `${field} must be true or false` })
}

const resolveBaseTemplateId = (id: string | undefined, cpuCount: number, memoryMB: number): string => {
  if (id === undefined) return defaultBaseTemplateId(cpuCount, memoryMB)
  assertBounded(id, 'baseTemplateId', LIMITS.refPart * 3 + 2)
  return formatTemplateRef(readRef(id, 'baseTemplateId'))
}

let lastBase: { readonly cpuCount: number; readonly memoryMB: number; readonly id: string } | undefined

/** Remembers the last size's id: a host mostly names one size, and a second hash would double the cost of every name. */
const defaultBaseTemplateId = (cpuCount: number, memoryMB: number): string => {
  if (lastBase?.cpuCount !== cpuCount || lastBase.memoryMB !== memoryMB) {
    lastBase = { cpuCount, memoryMB, id: mountableTemplateId({ cpuCount, memoryMB }) }
  }
  return lastBase.id
}

const resolveSalt = (salt: string | undefined): string => {
  if (salt === undefined) return ''
  assertText(salt, 'salt', LIMITS.salt)
  return salt
}

const resolveExtra = (extra: RepoTemplateIdentity['extra']): ResolvedRepoIdentity['extra'] => {
  if (extra === undefined) return []
  assertRecord(extra, 'extra', LIMITS.extraEntries)
  return sortedKeys(extra).map((key) => {
    assertText(key, 'extra', LIMITS.extraKey)
    if (key === '') {
      throw new IdentityError({ code: 'INPUT_REQUIRED', field: 'extra', message: 'extra has an empty key' })
    }
    const value = extra[key]
    assertText(value, `extra.${key}`, LIMITS.extraValue)
    return [key, value]
  })
}
