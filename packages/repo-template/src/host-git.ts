import { authorizationOf, originScope, type Credential } from './credential.ts'
import type { CloneUrl } from '@warmbox/identity'
import type { Destination } from './hosts/allowed-hosts.ts'
import { systemCertificates } from './head/certificates.ts'
import { hostGitEnvironment } from './head/git-environment.ts'
import { type GitOutcome, runGit } from './git-process.ts'
import { makeOwnDirectory, ownPath } from './own-directory.ts'

/** What git of this machine has to know to reach one repository. */
export interface HostGitInputs {
  readonly clone: CloneUrl
  readonly credential: Credential | undefined
  readonly destination: Destination
  /** PEM, trusted in addition to the system's. */
  readonly certificates: readonly string[]
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Further settings of git. */
  readonly settings?: readonly (readonly [key: string, value: string])[]
  readonly signal: AbortSignal
}

/** Git on this machine, in a directory of its own, hermetic, with the credential in its environment alone. */
export interface HostGit {
  readonly directory: string
  run(
    args: readonly string[],
    options?: { readonly variables?: Readonly<Record<string, string>>; readonly onError?: (text: string) => void },
  ): Promise<GitOutcome>
}

/** Raised where this machine's git could not be held to the addresses that were looked at. */
export class UnpinnedGitError extends Error {
  override readonly name = 'UnpinnedGitError'
}

/** First release that knows `http.curloptResolve`; an older one would resolve the name again, by itself. */
const pinningVersion = [2, 37] as const

/**
 * Gives `work` a git to use; the directory and everything in it is removed afterwards, whatever happened.
 * @throws UnpinnedGitError for a destination that a git as old as this machine's cannot be held to.
 */
export const withHostGit = async <T>(inputs: HostGitInputs, work: (git: HostGit) => Promise<T>): Promise<T> => {
  const [{ rm, writeFile }, path] = await Promise.all([import('node:fs/promises'), import('node:path')])
  // Outside of every repository: the configuration of one would take part.
  const directory = await ownPath('host-git')
  await makeOwnDirectory(directory)
  try {
    const { clone, credential, destination, certificates, signal } = inputs
    const env = hostGitEnvironment(inputs.environment, [
      ...(inputs.settings ?? []),
      ...(credential === undefined
        ? []
        : [[originScope(clone.origin), `Authorization: ${authorizationOf(credential)}`] as const]),
      ...pins(clone, destination),
    ])
    env['GIT_CEILING_DIRECTORIES'] = directory
    if (certificates.length > 0) {
      // git trusts the file it is given and nothing else.
      const bundle = path.join(directory, 'authorities.pem')
      await writeFile(bundle, [...(await systemCertificates()), ...certificates].join('\n'), { mode: 0o600 })
      env['GIT_SSL_CAINFO'] = bundle
    }
    if (destination.kind === 'only') await assertPins({ cwd: directory, env, signal })
    return await work({
      directory,
      run: (args, { variables, onError } = {}) =>
        runGit(args, {
          cwd: directory,
          env: { ...env, ...variables },
          signal,
          ...(onError === undefined ? {} : { onError }),
        }),
    })
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** A literal address needs no pin. */
const pins = (clone: CloneUrl, destination: Destination): readonly (readonly [string, string])[] => {
  if (destination.kind === 'anywhere' || clone.hostname.startsWith('[')) return []
  const addresses = destination.addresses.map(({ address, family }) => (family === 6 ? `[${address}]` : address))
  return [['http.curloptResolve', `${clone.hostname}:${clone.port ?? 443}:${addresses.join(',')}`]]
}

const assertPins = async (options: Parameters<typeof runGit>[1]): Promise<void> => {
  const result = await runGit(['version'], options)
  if (result.kind === 'missing') return
  const [, major = 0, minor = 0] = (/(\d+)\.(\d+)/.exec(result.output) ?? []).map(Number)
  if (major > pinningVersion[0] || (major === pinningVersion[0] && minor >= pinningVersion[1])) return
  throw new UnpinnedGitError(`git ${major}.${minor} cannot be held to the addresses that were checked`)
}
