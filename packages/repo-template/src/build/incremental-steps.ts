import { quoteShell } from '@warmbox/resolution'
import {
  boundedGitLine,
  checkoutLines,
  fetchLines,
  hermeticGitLines,
  initLines,
  offlineGitLines,
} from '../checkout/git-lines.ts'
import { partLines } from '../checkout/part-lines.ts'
import { CREDENTIAL_VARIABLE, exportLines } from './build-environment.ts'
import type { CheckoutPlan } from './checkout-steps.ts'
import { failFunction, stepScript } from './step-script.ts'

/** Of an earlier build, whose checkout has another commit. */
export interface IncrementalPlan extends CheckoutPlan {
  readonly wanted: { readonly sha: string }
}

/** Where the repository's own directory of the earlier build waits until its objects and its index were used. */
const parent = '/home/user/.warmbox/parent.git'
const parentLine = `warmbox_parent=${quoteShell(parent)}`

/**
 * Leaves of the earlier checkout its tracked files, and what git ignores: installed dependencies and caches, for which
 * there is an earlier build at all. The repository's own directory is set aside as a whole, with refs, hooks, filters
 * and settings that setup may have left in it. No credential is in this step.
 */
export const retireScript = ({ directory, parts }: CheckoutPlan): string =>
  stepScript('earlier checkout', [
    failFunction,
    ...offlineGitLines,
    parentLine,
    `cd -- ${quoteShell(directory)}`,
    // Inside of another checkout git would answer for that.
    '[ -d .git ] || warmbox_fail "there is no earlier checkout"',
    'export GIT_LFS_SKIP_SMUDGE=1',
    // Where the file system was copied, every file looks changed by its inode and would be written anew; its time would
    // then be too. What is left to change is the answer, and the next line's to deal with.
    'git update-index -q --refresh || true',
    // Setup may have changed what is ignored.
    'git reset --quiet --hard',
    ...(parts.submodules ? ['git submodule --quiet deinit --all --force'] : []),
    'git clean --quiet -ffd',
    // What the host is told that it need not send again.
    'git update-ref refs/warmbox/parent HEAD',
    'mkdir -p -- "$(dirname -- "$warmbox_parent")"',
    'rm -rf -- "$warmbox_parent"',
    'mv -T -- .git "$warmbox_parent"',
  ])

/**
 * Takes the work tree over to the commit: files that both have are left untouched, their times included. A second
 * cleaning, because the new commit may ignore less.
 */
const takeOverLines = (sha: string): readonly string[] => [
  'cp -- "$warmbox_parent/index" .git/index',
  `warmbox_sha=${quoteShell(sha)}`,
  'GIT_LFS_SKIP_SMUDGE=1 git -c advice.detachedHead=false checkout --quiet --force --detach "$warmbox_sha"',
  ...checkoutLines.slice(1),
  'git clean --quiet -ffd',
]

/**
 * A new repository around the files there are. While it fetches it borrows the objects of the earlier one, so that the
 * host sends the difference; then it packs what the commit needs and nothing else, as a clone has it.
 */
export const renewScript = (plan: IncrementalPlan, names: readonly string[]): string =>
  stepScript('fetch', [
    failFunction,
    ...exportLines(names),
    ...hermeticGitLines(plan.clone.origin, CREDENTIAL_VARIABLE, plan.credential?.scheme),
    boundedGitLine(plan.cloneTimeoutMs),
    parentLine,
    ...initLines(plan.clone.cloneUrl, plan.wanted.sha, quoteShell(plan.directory)),
    'mkdir -p .git/objects/info',
    `printf '%s\\n' "$warmbox_parent/objects" > .git/objects/info/alternates`,
    // Without it git would look for what comes before the earlier commit.
    'if [ -e "$warmbox_parent/shallow" ]; then cp -- "$warmbox_parent/shallow" .git/shallow; fi',
    ...fetchLines(plan.clone.cloneUrl, plan.wanted.sha, '--depth=1'),
    ...takeOverLines(plan.wanted.sha),
    'git repack -a -d --quiet',
    'rm -f .git/objects/info/alternates',
    'rm -rf -- "$warmbox_parent"',
    // Forgets that the earlier commit was where history ended.
    'git prune --expire=now',
    ...partLines(plan.parts, 'online'),
  ])

/** The same where the new repository was copied in and has everything. */
export const renewCopiedScript = (plan: IncrementalPlan): string =>
  stepScript('checkout', [
    failFunction,
    ...offlineGitLines,
    parentLine,
    `cd -- ${quoteShell(plan.directory)}`,
    'mkdir -p .git/objects .git/refs',
    'git init --quiet',
    ...takeOverLines(plan.wanted.sha),
    'rm -rf -- "$warmbox_parent"',
    ...partLines(plan.parts, 'offline'),
  ])
