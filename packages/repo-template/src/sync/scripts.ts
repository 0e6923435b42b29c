import type { Credential } from '../credential.ts'
import { checkoutLines, cloneLines, commandLine, fetchLines, hermeticGitLines } from '../checkout/git-lines.ts'
import { type CheckoutParts, partLines } from '../checkout/part-lines.ts'
import { measureLines, RECORD_IN_GIT, recordLines } from '../checkout/record.ts'
import { CREDENTIAL_VARIABLE, credentialStep } from '../build/build-environment.ts'
import { failFunction } from '../build/step-script.ts'
import { assign, fieldLine, type ScriptRun } from './sandbox.ts'

export interface SyncTarget {
  /** What git is given. */
  readonly cloneUrl: string
  readonly origin: string
  /** Canonical clone URL. */
  readonly repository: string
  /** Absolute directory of the checkout. */
  readonly path: string
  readonly sha: string
  readonly credential: Credential | undefined
  readonly parts: CheckoutParts
}

const credentialEnvironment = ({ credential }: SyncTarget): Record<string, string> => credentialStep(credential)

const enter = (path: string): readonly string[] => [assign('warmbox_path', path), 'cd -- "$warmbox_path"']

/**
 * Looks without touching anything. `state` is `none` for no directory or one that is no checkout with a commit (an
 * interrupted clone is none), `checkout` otherwise; then `head`, `branch` (empty when detached), `changed` (tracked files
 * that differ, as base64 of NUL-separated names), what {@link measureLines} measures, and the `record`.
 */
export const inspectScript = (path: string): ScriptRun => ({
  code: 'SYNC_FAILED',
  name: 'looking at the checkout',
  lines: [
    assign('warmbox_path', path),
    // The directory must be the top of its own checkout: inside of another one git would answer for that.
    `if ! cd -- "$warmbox_path" 2>/dev/null || [ ! -e .git ] || ! git rev-parse --quiet --verify 'HEAD^{commit}' >/dev/null 2>&1; then`,
    `  ${fieldLine('state', 'none')}`,
    '  exit 0',
    'fi',
    ...measureLines,
    'warmbox_record="$(git rev-parse --absolute-git-dir)/' + RECORD_IN_GIT + '"',
    fieldLine('state', 'checkout'),
    fieldLine('head', '$(git rev-parse --verify HEAD)'),
    fieldLine('branch', '$(git symbolic-ref --quiet --short HEAD || true)'),
    fieldLine('changed', "$(git diff --name-only -z HEAD | base64 | tr -d '\\n')"),
    fieldLine('lockfiles', '$warmbox_lockfiles'),
    fieldLine('worktree', '$warmbox_worktree'),
    fieldLine('record', `$(head -c 4096 -- "$warmbox_record" 2>/dev/null | tr -d '\\n' || true)`),
  ],
})

/** Prints the `record` an image says of itself; empty where there is none. */
export const templateRecordScript = (file: string): ScriptRun => ({
  code: 'SYNC_FAILED',
  name: "looking at the image's record",
  lines: [
    assign('warmbox_record', file),
    fieldLine('record', `$(head -c 4096 -- "$warmbox_record" 2>/dev/null | tr -d '\\n' || true)`),
  ],
})

/**
 * Clones next to the target and renames, so that an interrupted sync leaves nothing that looks like a checkout. What is
 * in the way (an interrupted clone, files of somebody) is set aside, not deleted.
 */
export const cloneScript = (target: SyncTarget): ScriptRun => ({
  code: 'SYNC_FAILED',
  name: 'clone',
  env: credentialEnvironment(target),
  lines: [
    failFunction,
    assign('warmbox_path', target.path),
    ...hermeticGitLines(target.origin, CREDENTIAL_VARIABLE, target.credential?.scheme),
    'mkdir -p -- "$(dirname -- "$warmbox_path")"',
    'warmbox_clone="$(mktemp -d -- "$(dirname -- "$warmbox_path")/.warmbox-clone.XXXXXX")"',
    `trap 'rm -rf -- "$warmbox_clone"' EXIT`,
    ...cloneLines(target.cloneUrl, { sha: target.sha }, '"$warmbox_clone/checkout"'),
    ...partLines(target.parts, 'online'),
    'cd -- "$(dirname -- "$warmbox_path")"',
    'if [ -e "$warmbox_path" ] || [ -L "$warmbox_path" ]; then',
    '  if ! rmdir -- "$warmbox_path" 2>/dev/null; then',
    '    warmbox_aside="$(mktemp -d -- "$warmbox_path.before-sync.XXXXXX")"',
    '    mv -T -- "$warmbox_path" "$warmbox_aside/$(basename -- "$warmbox_path")"',
    `    ${fieldLine('aside', '$warmbox_aside')}`,
    '  fi',
    'fi',
    'mv -T -- "$warmbox_clone/checkout" "$warmbox_path"',
  ],
})

/** Fetches the commit. The only script of a warm sync that knows the credential; it runs no hook and moves nothing. */
export const fetchScript = (target: SyncTarget): ScriptRun => ({
  code: 'SYNC_FAILED',
  name: 'fetch',
  env: credentialEnvironment(target),
  lines: [
    ...enter(target.path),
    ...hermeticGitLines(target.origin, CREDENTIAL_VARIABLE, target.credential?.scheme),
    assign('warmbox_sha', target.sha),
    'git cat-file -e "$warmbox_sha^{commit}" 2>/dev/null && exit 0',
    // A shallow checkout stays one; a complete one must not become shallow.
    'warmbox_depth=',
    'if [ "$(git rev-parse --is-shallow-repository)" = true ]; then warmbox_depth=--depth=1; fi',
    ...fetchLines(target.cloneUrl, target.sha, '$warmbox_depth'),
  ],
})

/**
 * Moves the checkout, unless that would lose something: `kept` then says what. Looks again itself, because time has
 * passed since the inspection. Changes that are exactly those setup made (`worktree` of the record) are undone first;
 * after that nothing may be in the way that git does not know or ignores.
 */
export const moveScript = (
  target: SyncTarget,
  record: { readonly sha: string; readonly worktree: string } | undefined,
): ScriptRun => ({
  code: 'SYNC_FAILED',
  name: 'checkout',
  lines: [
    failFunction,
    ...enter(target.path),
    assign('warmbox_sha', target.sha),
    assign('warmbox_known', record?.sha ?? ''),
    assign('warmbox_baked', record?.worktree ?? ''),
    `warmbox_keep() { ${fieldLine('kept', '$1')}; exit 0; }`,
    'warmbox_head="$(git rev-parse --verify HEAD)"',
    // Commits of the user's: on a branch, or on top of the commit that was checked out.
    'if git symbolic-ref --quiet HEAD >/dev/null || [ "$warmbox_head" != "$warmbox_known" ]; then',
    '  git merge-base --is-ancestor "$warmbox_head" "$warmbox_sha" 2>/dev/null || warmbox_keep commits',
    '  ! git symbolic-ref --quiet HEAD >/dev/null || warmbox_keep branch',
    'fi',
    ...measureLines,
    'if ! git diff --quiet HEAD; then',
    '  [ "$warmbox_worktree" = "$warmbox_baked" ] || warmbox_keep changes',
    '  GIT_LFS_SKIP_SMUDGE=1 git restore --source=HEAD --staged --worktree -- .',
    'fi',
    // Asked first, because a checkout that fails may have any reason.
    'git update-index -q --refresh || true',
    'git read-tree --dry-run -m -u HEAD "$warmbox_sha" 2>/dev/null || warmbox_keep untracked',
    // Ignored files are in the way too: git would overwrite them without a word.
    'while IFS= read -r -d "" warmbox_added; do',
    '  if [ -L "$warmbox_added" ] || { [ -e "$warmbox_added" ] && [ ! -d "$warmbox_added" ]; }; then warmbox_keep untracked; fi',
    'done < <(git diff --name-only --no-renames --diff-filter=A -z HEAD "$warmbox_sha")',
    // LFS files come after the move; a filter would fetch them now, and without the credential.
    'export GIT_LFS_SKIP_SMUDGE=1',
    'git -c core.hooksPath=/dev/null -c advice.detachedHead=false checkout --quiet --no-overwrite-ignore --detach "$warmbox_sha"',
    ...checkoutLines.slice(1),
    ...measureLines,
    fieldLine('lockfiles', '$warmbox_lockfiles'),
  ],
})

/**
 * Brings submodules and LFS files to where the commit has them. Comes after a move; with work in a
 * submodule, which is a change of the checkout, nothing moves.
 */
export const partsScript = (target: SyncTarget): ScriptRun => ({
  code: 'SYNC_FAILED',
  name: 'submodules and files',
  env: credentialEnvironment(target),
  lines: [
    failFunction,
    ...enter(target.path),
    ...hermeticGitLines(target.origin, CREDENTIAL_VARIABLE, target.credential?.scheme),
    ...(target.parts.submodules ? ['git submodule --quiet sync --recursive'] : []),
    ...partLines(target.parts, 'online'),
  ],
})

/** One setup command, as the build runs it, with the build variables and without the credential. */
export const setupScript = (
  path: string,
  name: string,
  command: string,
  env: Readonly<Record<string, string>>,
): ScriptRun => ({
  code: 'SETUP_FAILED',
  name,
  env,
  lines: [...enter(path), commandLine(command)],
})

/** Writes what the checkout is now. What setup has not caught up with yet is carried over from before. */
export const recordScript = (
  target: SyncTarget,
  carried: { readonly lockfiles?: string; readonly builtAt?: string } = {},
): ScriptRun => ({
  code: 'SYNC_FAILED',
  name: 'record',
  lines: [...enter(target.path), ...recordLines({ ...carried, repository: target.repository, path: target.path })],
})
