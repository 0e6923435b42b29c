import type { CloneUrl } from '@warmbox/identity'
import { quoteShell } from '@warmbox/resolution'
import {
  boundedGitLines,
  checkoutLines,
  cloneLines,
  hermeticGitLines,
  offlineGitLines,
  type Wanted,
} from '../checkout/git-lines.ts'
import { type CheckoutParts, partLines } from '../checkout/part-lines.ts'
import type { Credential } from '../credential.ts'
import { CREDENTIAL_VARIABLE, exportLines } from './build-environment.ts'
import { failFunction, stepScript } from './step-script.ts'

export interface CheckoutPlan {
  /** What git is given. */
  readonly clone: CloneUrl
  readonly wanted: Wanted
  readonly directory: string
  readonly credential: Credential | undefined
  readonly parts: CheckoutParts
  /** Longest clone in milliseconds. */
  readonly cloneTimeoutMs: number
}

const home = '/home/user/'

/** For steps that write the checkout: git takes its files' permissions from here, and a login shell's may be another. */
export const umaskLine = 'umask 022'

/** The empty directory of the checkout. As root, because it may lie outside of the user's home. */
export const directoryScript = (directory: string): string => {
  const parents = directory.startsWith(home)
    ? directory
        .slice(home.length)
        .split('/')
        .map((_segment, index, segments) => `${home}${segments.slice(0, index + 1).join('/')}`)
    : [directory]
  return stepScript('directory', [
    failFunction,
    umaskLine,
    `warmbox_directory=${quoteShell(directory)}`,
    '[ -z "$(ls -A -- "$warmbox_directory" 2>/dev/null)" ] || warmbox_fail "$warmbox_directory is not empty"',
    'mkdir -p -- "$warmbox_directory"',
    `chown user: -- ${parents.map(quoteShell).join(' ')}`,
  ])
}

/** As root. Where the image has git-lfs already it does nothing. */
export const lfsScript: string = stepScript('git-lfs', [
  'if ! git lfs version >/dev/null 2>&1; then',
  '  export DEBIAN_FRONTEND=noninteractive',
  '  apt-get update',
  '  apt-get install -y --no-install-recommends git-lfs',
  '  rm -rf /var/lib/apt/lists/*',
  'fi',
])

/** The build clones, with the credential in its environment. */
export const cloneScript = (plan: CheckoutPlan, names: readonly string[]): string =>
  stepScript('clone', [
    failFunction,
    umaskLine,
    ...exportLines(names),
    ...hermeticGitLines(plan.clone.origin, CREDENTIAL_VARIABLE, plan.credential?.scheme),
    ...boundedGitLines(plan.cloneTimeoutMs),
    ...cloneLines(plan.clone.cloneUrl, plan.wanted, quoteShell(plan.directory)),
    ...partLines(plan.parts, 'online'),
  ])

/**
 * The repository's own directory was copied in; the files come out of it, without network. `git init` completes what an
 * archive may have lost, such as directories with nothing in them.
 */
export const unpackScript = (plan: CheckoutPlan): string =>
  stepScript('checkout', [
    failFunction,
    umaskLine,
    ...offlineGitLines,
    `cd -- ${quoteShell(plan.directory)}`,
    'mkdir -p .git/objects .git/refs',
    'git init --quiet',
    // Where the clone had a work tree too, its index tells of files that are not here.
    'rm -f .git/index',
    `warmbox_sha=${plan.wanted.sha === undefined ? '"$(git rev-parse --verify FETCH_HEAD)"' : quoteShell(plan.wanted.sha)}`,
    ...checkoutLines,
    ...partLines(plan.parts, 'offline'),
  ])
