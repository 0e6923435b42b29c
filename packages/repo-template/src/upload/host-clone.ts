import type { CloneUrl } from '@warmbox/identity'
import { createRedactor } from '@warmbox/resolution'
import type { Wanted } from '../checkout/git-lines.ts'
import type { CheckoutParts } from '../checkout/part-lines.ts'
import type { Credential } from '../credential.ts'
import { abortable, withDeadline } from '../deadline.ts'
import { RepoTemplateError } from '../errors.ts'
import { extraCertificates } from '../head/certificates.ts'
import { destinationOf } from '../hosts/allowed-hosts.ts'
import { type HostGit, withHostGit } from '../host-git.ts'
import { makeOwnDirectory } from '../own-directory.ts'

/** A clone made by this machine. */
export interface HostClone {
  readonly clone: CloneUrl
  readonly wanted: Wanted
  readonly credential: Credential | undefined
  readonly parts: CheckoutParts
  readonly allowedHosts: readonly string[] | undefined
  readonly certificateAuthority: string | undefined
  readonly timeoutMs: number
  /** Removed from what is told of a failure. */
  readonly secrets: readonly string[]
}

/** Of the directory {@link cloneOnHost} was given: the repository without its files, which is all a checkout needs. */
export const CLONED = 'repository/.git'

/**
 * Clones into `directory`, hermetic as the head lookup: the credential is in git's environment alone. FETCH_HEAD is the
 * commit. Submodules and LFS files lie in the repository's own directory, so that it alone has to travel.
 *
 * @throws RepoTemplateError `CLONE_FAILED`, or `ACCESS_REFUSED` for a host that is not allowed; the signal's reason.
 */
const cloneOnHost = async (inputs: HostClone, directory: string, caller: AbortSignal | undefined): Promise<void> => {
  let work: Promise<void> | undefined
  try {
    await withDeadline(inputs.timeoutMs, caller, (signal) => {
      work = cloneWithin(inputs, directory, signal)
      return work
    })
  } catch (error) {
    // A git that is being ended may still write, and what it writes is to be removed. Its own outcome is `error`.
    await work?.catch(() => undefined)
    if (caller?.aborted === true) throw caller.reason
    if (error instanceof RepoTemplateError) throw error
    const reason = error instanceof Error ? error.message : 'git could not be started'
    throw new RepoTemplateError({
      code: 'CLONE_FAILED',
      message: `The repository could not be cloned: ${reason}`,
      cause: error,
    })
  }
}

const cloneWithin = async (inputs: HostClone, directory: string, signal: AbortSignal): Promise<void> => {
  const destination = await abortable(destinationOf(inputs.clone, inputs.allowedHosts), signal)
  if ('status' in destination) throw new RepoTemplateError({ code: 'ACCESS_REFUSED', message: destination.reason })
  const certificates = await extraCertificates(inputs.certificateAuthority, process.env)
  await withHostGit({ ...inputs, destination, certificates, environment: process.env, signal }, (git) =>
    clone(gitIn(git, `${directory}/repository`, inputs.secrets), inputs),
  )
}

/** Clones into a directory of its own making; answers what removes it. Where the clone fails it is gone already. */
export const makeUpload = async (
  inputs: HostClone,
  directory: string,
  signal: AbortSignal | undefined,
): Promise<() => Promise<void>> => {
  const { mkdir, rm } = await import('node:fs/promises')
  const remove = () => rm(directory, { recursive: true, force: true })
  await makeOwnDirectory(directory)
  try {
    await mkdir(`${directory}/repository`)
    await cloneOnHost(inputs, directory, signal)
    return remove
  } catch (error) {
    await remove()
    throw error
  }
}

type Git = (...args: readonly string[]) => Promise<string>

const clone = async (git: Git, { clone: { cloneUrl }, wanted, parts }: HostClone): Promise<void> => {
  const format = wanted.sha?.length === 64 ? ['--object-format=sha256'] : []
  // Without templates: hooks and the like are the image's own.
  await git('init', '--quiet', '--template=', ...format)
  await git('remote', 'add', 'origin', cloneUrl)
  const sha = wanted.sha === undefined ? await fetchTip(git, cloneUrl, wanted.branch) : wanted.sha
  if (wanted.sha !== undefined) await fetchCommit(git, cloneUrl, sha)
  // What submodules there are, and where LFS files come from, a work tree says.
  if (parts.submodules || parts.lfs) await git('checkout', '--quiet', '--detach', sha)
  if (parts.submodules) await fetchSubmodules(git)
  if (parts.lfs) {
    await git('lfs', 'fetch', 'origin', sha)
    if (parts.submodules) await git('submodule', '--quiet', 'foreach', '--recursive', 'git lfs fetch origin HEAD')
  }
}

const fetchTip = async (git: Git, url: string, branch: string | undefined): Promise<string> => {
  await git(
    'fetch',
    '--quiet',
    '--no-tags',
    '--depth=1',
    '--',
    url,
    branch === undefined ? 'HEAD' : `refs/heads/${branch}`,
  )
  return (await git('rev-parse', '--verify', 'FETCH_HEAD')).trim()
}

/** All refs where the host gives no single commit; none of them stays. */
const fetchCommit = async (git: Git, url: string, sha: string): Promise<void> => {
  try {
    await git('fetch', '--quiet', '--no-tags', '--depth=1', '--', url, sha)
  } catch (error) {
    if (!(error instanceof HostGitError)) throw error
    await git('fetch', '--quiet', '--no-tags', '--', url, '+refs/*:refs/warmbox/*')
    const refs = await git('for-each-ref', '--format=%(refname)', 'refs/warmbox/')
    for (const ref of refs.split('\n').filter((line) => line !== '')) await git('update-ref', '-d', ref)
  }
}

const fetchSubmodules = async (git: Git): Promise<void> => {
  const update = ['submodule', '--quiet', 'update', '--init', '--recursive'] as const
  try {
    await git(...update, '--depth=1')
  } catch (error) {
    if (!(error instanceof HostGitError)) throw error
    await git(...update, '--no-recommend-shallow')
  }
}

class HostGitError extends Error {
  override readonly name = 'HostGitError'
}

const longestReason = 500

const gitIn = (git: HostGit, directory: string, secrets: readonly string[]): Git => {
  const redactor = createRedactor(secrets)
  return async (...args) => {
    let said = ''
    const result = await git.run(['-C', directory, ...args], {
      onError: (text) => {
        said = (said + text).slice(-64 * 1024)
      },
    })
    if (result.kind === 'missing') throw new HostGitError('git is not installed')
    if (result.exitCode === 0) return result.output
    const reason = redactor.text(said).trim().slice(-longestReason)
    throw new HostGitError(
      `git ${args[0] ?? ''} ended with exit code ${result.exitCode}${reason === '' ? '' : `: ${reason}`}`,
    )
  }
}
