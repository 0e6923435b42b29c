import {
  type BuildEnvValue,
  DEFAULT_NODE_VERSION,
  mountableTemplateId,
  repoTemplateName,
  type RepoTemplateIdentity,
  resolveResources,
} from '@warmbox/identity'
import type { NamedTemplateSpec, TemplateResources } from '@warmbox/resolution'
import type { TemplateBuilder } from 'e2b'
import { RepoTemplateError } from './errors.ts'
import { assertCertificates } from './head/certificates.ts'
import { DEFAULT_HEAD_TIMEOUT_MS, type HeadResolver } from './head/head.ts'
import { resolveHead } from './head/resolve-head.ts'
import { checkAllowedHosts } from './hosts/allowed-hosts.ts'
import { checkCredentialForms } from './hosts/credential-form.ts'
import { assertFunction, assertKnownKeys, assertObject } from './known-keys.ts'
import { parseRefSelection, type RefSelector } from './ref-selector.ts'
import type { RepoTemplateOptions } from './repo-template-options.ts'
import type { HostRules, RepositoryAccess } from './repository-access.ts'
import { countOf } from './count.ts'
import { timeoutOf } from './timeout.ts'

export type { RepoTemplateOptions } from './repo-template-options.ts'

const DEFAULT_CLONE_TIMEOUT_MS = 20 * 60_000
const DEFAULT_CLEAN_EVERY = 10

/** Every option checked and complete; what only the accessor and `buildEnv` know comes later. */
export interface ResolvedOptions extends HostRules {
  readonly getRepositoryAccess: (() => Promise<RepositoryAccess | undefined>) | undefined
  readonly selector: RefSelector
  readonly sha: string | undefined
  readonly setupCommands: readonly string[]
  readonly buildEnv: () => Promise<Readonly<Record<string, BuildEnvValue>>>
  readonly resources: Required<TemplateResources>
  readonly nodeVersion: string
  readonly workingDirectory: string | undefined
  readonly base: ((builder: TemplateBuilder) => TemplateBuilder) | undefined
  readonly submodules: boolean
  readonly lfs: boolean
  readonly source: 'clone' | 'upload'
  readonly cloneTimeoutMs: number
  readonly cleanEvery: number
  readonly maxStaleMs: number | undefined
  readonly fallbackTemplate: NamedTemplateSpec['fallbackTemplate']
  /** The part of the identity that is known without asking anybody. */
  readonly identity: Omit<RepoTemplateIdentity, 'cloneUrl' | 'sha' | 'buildEnv'>
  readonly naming: { readonly prefix?: string }
  readonly certificateAuthority: string | undefined
  readonly headTimeoutMs: number
  readonly resolveHead: HeadResolver
}

const known: readonly (keyof RepoTemplateOptions)[] = [
  'getRepositoryAccess',
  'setupCommand',
  'buildEnv',
  'cpuCount',
  'memoryMB',
  'nodeVersion',
  'workingDirectory',
  'branch',
  'tag',
  'pull',
  'mergeRequest',
  'sha',
  'base',
  'submodules',
  'lfs',
  'source',
  'cloneTimeoutMs',
  'cleanEvery',
  'maxStaleMs',
  'credentialForms',
  'allowedHosts',
  'fallbackTemplate',
  'salt',
  'extra',
  'prefix',
  'certificateAuthority',
  'headTimeoutMs',
  'resolveHead',
]

/**
 * Checks everything that can be checked before anything is requested.
 *
 * @throws RepoTemplateError or IdentityError; `field` names the option.
 */
export const resolveOptions = (options: RepoTemplateOptions): ResolvedOptions => {
  assertObject(options, 'options', 'The options of a repository template', '{ getRepositoryAccess }')
  assertKnownKeys(options, known, 'A repository template')
  const { getRepositoryAccess, buildEnv = {}, nodeVersion = DEFAULT_NODE_VERSION, sha } = options
  assertFunction(getRepositoryAccess, 'getRepositoryAccess', functionHints.getRepositoryAccess)
  assertFunction(options.resolveHead, 'resolveHead', functionHints.resolveHead)
  assertFunction(options.base, 'base', functionHints.base)
  assertCertificates(options.certificateAuthority)
  assertReach(options)
  const selector = parseRefSelection(options)
  const resources = resolveResources({ cpuCount: options.cpuCount, memoryMB: options.memoryMB })
  const setupCommands = setupCommandsOf(options.setupCommand)
  const identity: ResolvedOptions['identity'] = Object.freeze({
    setupCommand: setupCommands,
    ...resources,
    ...(options.workingDirectory === undefined ? {} : { workingDirectory: options.workingDirectory }),
    submodules: flagOf(options.submodules, 'submodules'),
    lfs: flagOf(options.lfs, 'lfs'),
    baseTemplateId: mountableTemplateId({ nodeVersion, ...resources }),
    ...(options.salt === undefined ? {} : { salt: options.salt }),
    ...(options.extra === undefined ? {} : { extra: options.extra }),
  })
  const naming = Object.freeze(options.prefix === undefined ? {} : { prefix: options.prefix })
  // The name's own checks are the checks of what goes into it; the URL stands in for the one not known yet.
  repoTemplateName(
    {
      ...identity,
      cloneUrl: 'https://host.invalid/owner/repository',
      ...(sha === undefined ? {} : { sha }),
      ...(typeof buildEnv === 'function' ? {} : { buildEnv }),
    },
    naming,
  )
  if (typeof buildEnv !== 'function') assertBuildEnvNames(buildEnv)
  return Object.freeze({
    getRepositoryAccess,
    selector,
    sha: sha?.toLowerCase(),
    setupCommands,
    buildEnv: typeof buildEnv === 'function' ? buildEnv : () => Promise.resolve(buildEnv),
    resources: Object.freeze({ ...resources }),
    nodeVersion,
    workingDirectory: workingDirectoryOf(options.workingDirectory),
    base: options.base,
    submodules: flagOf(options.submodules, 'submodules'),
    lfs: flagOf(options.lfs, 'lfs'),
    source: sourceOf(options.source),
    cloneTimeoutMs: timeoutOf(options.cloneTimeoutMs, 'cloneTimeoutMs', DEFAULT_CLONE_TIMEOUT_MS),
    cleanEvery: countOf(options.cleanEvery, 'cleanEvery', DEFAULT_CLEAN_EVERY),
    maxStaleMs: options.maxStaleMs === undefined ? undefined : countOf(options.maxStaleMs, 'maxStaleMs', 0, 0),
    credentialForms: checkCredentialForms(options.credentialForms),
    allowedHosts: checkAllowedHosts(options.allowedHosts),
    fallbackTemplate: options.fallbackTemplate,
    identity,
    naming,
    certificateAuthority: options.certificateAuthority,
    headTimeoutMs: timeoutOf(options.headTimeoutMs, 'headTimeoutMs', DEFAULT_HEAD_TIMEOUT_MS),
    resolveHead: options.resolveHead ?? resolveHead,
  })
}

/** Variables bash does not let anybody set, and those the build steps use themselves. */
const reservedVariable = /^(?:BASHOPTS|BASH_VERSINFO|EUID|PPID|SHELLOPTS|UID|WARMBOX_.*)$/

/** @throws RepoTemplateError `OPTION_TYPE` for what holds no variables, `OPTION_INVALID` for one that a build step could not export. */
export const assertBuildEnvNames = (buildEnv: Readonly<Record<string, BuildEnvValue>>): void => {
  assertObject(buildEnv, 'buildEnv', 'buildEnv, or what it answers,', "{ CI: '1' }")
  for (const name of Object.keys(buildEnv)) {
    if (!reservedVariable.test(name)) continue
    throw new RepoTemplateError({
      code: 'OPTION_INVALID',
      field: `buildEnv.${name}`,
      message: `buildEnv cannot set ${name}`,
      hint: name.startsWith('WARMBOX_')
        ? 'Choose another name: those that begin with WARMBOX_ are taken.'
        : 'Choose another name: the shell does not let anybody set this one.',
    })
  }
}

const setupCommandsOf = (setupCommand: RepoTemplateOptions['setupCommand']): readonly string[] => {
  if (setupCommand === undefined) return []
  const commands: readonly unknown[] = typeof setupCommand === 'string' ? [setupCommand] : setupCommand
  if (!Array.isArray(commands)) throw noCommands()
  const kept = commands.map((command) => {
    if (typeof command === 'string') return command
    throw noCommands()
  })
  return Object.freeze(kept.filter((command) => command.trim() !== ''))
}

const noCommands = (): RepoTemplateError =>
  new RepoTemplateError({
    code: 'OPTION_TYPE',
    field: 'setupCommand',
    message: 'setupCommand must be a string or a list of strings',
    hint: "Write ['corepack enable', 'pnpm install'], for one, or leave it out where nothing is to be set up.",
  })

/** Where a clone would bury what the platform keeps there. */
const takenDirectories: readonly string[] = ['/home', '/home/user']

/** Builds make and remove what they like in here. */
const ownDirectory = '/home/user/.warmbox'

/** In its one spelling; the identity has refused everything that has none. */
const workingDirectoryOf = (directory: string | undefined): string | undefined => {
  if (directory === undefined) return undefined
  const normalized = `/${directory
    .split('/')
    .filter((segment) => segment !== '')
    .join('/')}`
  if (takenDirectories.includes(normalized) || `${normalized}/`.startsWith(`${ownDirectory}/`)) {
    throw new RepoTemplateError({
      code: 'OPTION_INVALID',
      field: 'workingDirectory',
      message: `workingDirectory cannot be ${normalized}`,
      hint: `Name a directory of its own for the checkout, outside of ${ownDirectory}, such as /home/user/widgets.`,
    })
  }
  return normalized
}

const functionHints = {
  getRepositoryAccess: 'Write async () => ({ cloneUrl }), or undefined for a session without a repository.',
  resolveHead: 'Give resolveHeadWithGit, for one, without calling it, or leave it out.',
  base: "Write (builder) => builder.aptInstall(['ripgrep']), for one, or leave it out.",
} as const

/** A repository names the hosts of its submodules and LFS files; with an upload it is this machine that would go there. */
const assertReach = ({ allowedHosts, source, submodules, lfs }: RepoTemplateOptions): void => {
  if (allowedHosts === undefined || source !== 'upload' || (submodules !== true && lfs !== true)) return
  throw new RepoTemplateError({
    code: 'OPTION_CONFLICT',
    field: 'allowedHosts',
    message:
      "With source 'upload', submodules and LFS files would lead this machine to hosts that allowedHosts rules out",
    hint: "Use source: 'clone', where the build goes there, or leave out submodules and lfs.",
  })
}

const flagOf = (value: boolean | undefined, field: string): boolean => {
  if (value === undefined || typeof value === 'boolean') return value ?? false
  throw new RepoTemplateError({
    code: 'OPTION_TYPE',
    field,
    message: `${field} must be true or false`,
    hint: `Write ${field}: true, or leave it out for false.`,
  })
}

const sourceOf = (value: RepoTemplateOptions['source']): 'clone' | 'upload' => {
  if (value === undefined || value === 'clone' || value === 'upload') return value ?? 'clone'
  throw new RepoTemplateError({
    code: 'OPTION_INVALID',
    field: 'source',
    message: "source must be 'clone' or 'upload'",
    hint: "Write source: 'upload' to keep the credential from the build service, or leave it out for 'clone'.",
  })
}
