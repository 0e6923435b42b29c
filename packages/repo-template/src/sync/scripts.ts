import { quoteShell } from '@warmbox/resolution'
import type { Credential } from '../credential.ts'
import { checkoutLines, cloneLines, commandLine, fetchLines, hermeticGitLines } from '../checkout/git-lines.ts'
import { type CheckoutParts, partLines } from '../checkout/part-lines.ts'
import { measureLines } from '../checkout/measure.ts'
import {
  attributed,
  knownLines,
  RECORD_IN_GIT,
  type RecordInputs,
  recordLines,
  writeRecordLines,
} from '../checkout/record.ts'
import { CREDENTIAL_VARIABLE, credentialStep, environmentSteps, exportLines } from '../build/build-environment.ts'
import { failFunction } from '../build/step-script.ts'
import { lockLines } from './lock.ts'
import { obstacleLines } from './obstacles.ts'
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
  /** Longest wait for another sync. */
  readonly waitSeconds: number
}

/** What a record says of setup. */
export type SetupState = Pick<RecordInputs, 'lockfiles' | 'builtAt'>

/** Submodules and LFS files are still to come, in the repository's own directory. */
const PARTS_DUE = 'warmbox.parts-due'

const credentialEnvironment = ({ credential }: SyncTarget): Record<string, string> => credentialStep(credential)

const enter = (path: string): readonly string[] => [assign('warmbox_path', path), 'cd -- "$warmbox_path"']

const enterLocked = ({ path, waitSeconds }: SyncTarget): readonly string[] => [
  failFunction,
  ...enter(path),
  ...lockLines('.git', waitSeconds),
]

const recordOf = ({ repository, path, sha }: SyncTarget, setup: SetupState): RecordInputs => ({
  ...setup,
  repository,
  path,
  sha,
})

/** True for a directory that is the top of a checkout with a commit: inside of another one git would answer for that. */
const isCheckout = (directory: string): string =>
  `{ [ -e ${directory}/.git ] && git -C ${directory} rev-parse --quiet --verify 'HEAD^{commit}' >/dev/null 2>&1; }`

/**
 * Looks without touching anything. `state` is `none` for no directory or one that is no checkout with a commit (an
 * interrupted clone is none), `checkout` otherwise; then `head`, `branch` (empty when detached), what {@link measureLines} measures,
 * the `record`, and whether `parts` are due.
 */
export const inspectScript = (path: string): ScriptRun => ({
  code: 'SYNC_FAILED',
  name: 'looking at the checkout',
  lines: [
    assign('warmbox_path', path),
    `if ! cd -- "$warmbox_path" 2>/dev/null || ! ${isCheckout('.')}; then`,
    `  ${fieldLine('state', 'none')}`,
    '  exit 0',
    'fi',
    ...measureLines,
    'warmbox_record="$(git rev-parse --absolute-git-dir)/' + RECORD_IN_GIT + '"',
    fieldLine('state', 'checkout'),
    fieldLine('head', '$(git rev-parse --verify HEAD)'),
    fieldLine('branch', '$(git symbolic-ref --quiet --short HEAD || true)'),
    fieldLine('changed', '$warmbox_changed'),
    fieldLine('clean', '$([ "$warmbox_worktree" = "$warmbox_clean" ] && echo yes || echo no)'),
    fieldLine('parts', `$([ -e "$(git rev-parse --absolute-git-dir)/${PARTS_DUE}" ] && echo due || true)`),
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
 * in the way (an interrupted clone, files of somebody) is set aside, not deleted; `aside` then is where it lies. `present`
 * where another sync was there first, whose checkout stays.
 */
export const cloneScript = (target: SyncTarget, setup: SetupState): ScriptRun => ({
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
    ...recordLines(recordOf(target, setup)),
    'cd -- "$(dirname -- "$warmbox_path")"',
    ...lockLines('.', target.waitSeconds),
    `if ${isCheckout('"$warmbox_path"')}; then`,
    `  ${fieldLine('present', 'yes')}`,
    '  exit 0',
    'fi',
    'if [ -e "$warmbox_path" ] || [ -L "$warmbox_path" ]; then',
    '  if ! rmdir -- "$warmbox_path" 2>/dev/null; then',
    '    warmbox_aside="$(mktemp -d -- "$warmbox_path.before-sync.XXXXXX")"',
    '    mv -T -- "$warmbox_path" "$warmbox_aside/$(basename -- "$warmbox_path")"',
    `    ${fieldLine('aside', '$warmbox_aside/$(basename -- "$warmbox_path")')}`,
    '  fi',
    'fi',
    'mv -T -- "$warmbox_clone/checkout" "$warmbox_path"',
  ],
})

/** Commits of the new head's history that are looked through for the checkout's; without their files, where the host can. */
const historyDepth = 256

/**
 * Fetches the commit. The only script of a warm sync that knows the credential; it runs no hook and moves nothing.
 * `contained` is the commit of the checkout where it is one of the user's that the new head's history holds. A shallow
 * checkout cannot tell by itself, so the history is fetched next to it; where that fails, or is not enough, it is not known.
 */
export const fetchScript = (target: SyncTarget): ScriptRun => ({
  code: 'SYNC_FAILED',
  name: 'fetch',
  env: credentialEnvironment(target),
  lines: [
    ...enter(target.path),
    ...hermeticGitLines(target.origin, CREDENTIAL_VARIABLE, target.credential?.scheme),
    assign('warmbox_sha', target.sha),
    'if ! git cat-file -e "$warmbox_sha^{commit}" 2>/dev/null; then',
    // A shallow checkout stays one; a complete one must not become shallow.
    'warmbox_depth=',
    'if [ "$(git rev-parse --is-shallow-repository)" = true ]; then warmbox_depth=--depth=1; fi',
    ...fetchLines(target.cloneUrl, target.sha, '$warmbox_depth'),
    'fi',
    ...knownLines,
    'warmbox_head="$(git rev-parse --verify HEAD)"',
    'if [ "$warmbox_head" = "$warmbox_known" ] || [ "$warmbox_head" = "$warmbox_sha" ]; then exit 0; fi',
    'if git merge-base --is-ancestor "$warmbox_head" "$warmbox_sha" 2>/dev/null; then',
    `  ${fieldLine('contained', '$warmbox_head')}`,
    '  exit 0',
    'fi',
    '[ "$(git rev-parse --is-shallow-repository)" = true ] || exit 0',
    'warmbox_history="$(mktemp -d)"',
    `trap 'rm -rf -- "$warmbox_history"' EXIT`,
    'warmbox_search() {',
    `  git init --quiet --bare${target.sha.length === 64 ? ' --object-format=sha256' : ''} -- "$warmbox_history" || return`,
    `  git -C "$warmbox_history" fetch --quiet --no-tags --depth=${historyDepth} --filter=tree:0 -- ${quoteShell(target.cloneUrl)} "$warmbox_sha" || return`,
    '  git -C "$warmbox_history" rev-list "$warmbox_sha" | grep -xF -- "$warmbox_head"',
    '}',
    'if warmbox_search >/dev/null 2>&1; then',
    `  ${fieldLine('contained', '$warmbox_head')}`,
    'fi',
  ],
})

/**
 * Where what setup had changed is kept, with a reflog of what was before. Not below `refs/warmbox`, which a fetch clears.
 */
const UNDONE_REF = 'refs/warmbox-undone'

/**
 * Moves the checkout, unless that would lose something: `kept` then says what. Looks again itself, because time has
 * passed since the inspection. Changes that are exactly those setup made (`worktree` of the record) are kept as a commit
 * and undone first; after that nothing may be in the way that git does not know or ignores. The record says at once where
 * the checkout is, with what `setup` it had before.
 */
export const moveScript = (target: SyncTarget, setup: SetupState, contained: string | undefined): ScriptRun => ({
  code: 'SYNC_FAILED',
  name: 'checkout',
  lines: [
    ...enterLocked(target),
    assign('warmbox_sha', target.sha),
    assign('warmbox_contained', contained ?? ''),
    'warmbox_undone=',
    'warmbox_keep() {',
    '  if [ -n "$warmbox_undone" ]; then git stash apply --quiet --index "$warmbox_undone" >/dev/null; fi',
    `  ${fieldLine('kept', '$1')}`,
    '  exit 0',
    '}',
    'warmbox_head="$(git rev-parse --verify HEAD)"',
    ...measureLines,
    ...knownLines,
    // Another sync was faster.
    'if [ "$warmbox_head" = "$warmbox_sha" ]; then',
    `  ${fieldLine('lockfiles', '$warmbox_lockfiles')}`,
    '  exit 0',
    'fi',
    'if [ "$warmbox_head" != "$warmbox_known" ] && [ "$warmbox_head" != "$warmbox_contained" ]; then warmbox_keep commits; fi',
    'if git symbolic-ref --quiet HEAD >/dev/null; then warmbox_keep branch; fi',
    'for warmbox_operation in MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD rebase-merge rebase-apply; do',
    '  if [ -e "$(git rev-parse --git-path "$warmbox_operation")" ]; then warmbox_keep changes; fi',
    'done',
    'if [ "$warmbox_worktree" != "$warmbox_clean" ] && [ "$warmbox_worktree" != "$warmbox_baked" ]; then warmbox_keep changes; fi',
    // What they would hide is known now, and git does not replace a file so marked.
    'if warmbox_marked; then warmbox_unmark; fi',
    'if [ "$warmbox_worktree" != "$warmbox_clean" ]; then',
    '  warmbox_undone="$(git stash create "what setup had changed")" || warmbox_keep changes',
    '  if [ -n "$warmbox_undone" ]; then',
    `    git update-ref --create-reflog -m "sync to $warmbox_sha" ${UNDONE_REF} "$warmbox_undone"`,
    '  fi',
    '  GIT_LFS_SKIP_SMUDGE=1 git restore --source=HEAD --staged --worktree -- .',
    'fi',
    ...obstacleLines,
    ...(target.parts.submodules || target.parts.lfs ? [`: > "$(git rev-parse --absolute-git-dir)/${PARTS_DUE}"`] : []),
    // LFS files come after the move; a filter would fetch them now, and without the credential.
    'export GIT_LFS_SKIP_SMUDGE=1',
    'git -c core.hooksPath=/dev/null -c advice.detachedHead=false checkout --quiet --no-overwrite-ignore --detach "$warmbox_sha"',
    ...checkoutLines.slice(1),
    'warmbox_look',
    ...writeRecordLines(recordOf(target, setup), '$warmbox_worktree'),
    fieldLine('lockfiles', '$warmbox_lockfiles'),
  ],
})

/**
 * Brings submodules and LFS files to where the commit has them. Comes after a move; with work in a
 * submodule, which is a change of the checkout, nothing moves.
 */
export const partsScript = (target: SyncTarget, setup: SetupState): ScriptRun => ({
  code: 'SYNC_FAILED',
  name: 'submodules and files',
  env: credentialEnvironment(target),
  lines: [
    ...enterLocked(target),
    ...hermeticGitLines(target.origin, CREDENTIAL_VARIABLE, target.credential?.scheme),
    ...attributed([
      ...(target.parts.submodules ? ['git submodule --quiet sync --recursive'] : []),
      ...partLines(target.parts, 'online'),
    ]),
    ...writeRecordLines(recordOf(target, setup), '$warmbox_baked'),
    `rm -f -- "$warmbox_git_directory/${PARTS_DUE}"`,
  ],
})

/**
 * One setup command, as the build runs it, with the build variables and without the credential. Whether it ends well or
 * not, the record then tells what it changed; `before` is what it says of setup as long as that has not ended well, and
 * `after` once it has.
 */
export const setupScript = (
  target: SyncTarget,
  name: string,
  command: string,
  environment: Readonly<Record<string, string>>,
  { before, after }: { readonly before: SetupState; readonly after: SetupState },
): ScriptRun => ({
  code: 'SETUP_FAILED',
  name,
  env: environmentSteps(environment),
  lines: [
    ...enterLocked(target),
    ...attributed([
      'warmbox_status=0',
      // In a shell of its own, so that build variables reach the command and nothing after it.
      '(',
      ...exportLines(Object.keys(environment)),
      commandLine(command),
      ') 9<&- || warmbox_status=$?',
    ]),
    'if [ "$warmbox_status" = 0 ]; then',
    ...writeRecordLines(recordOf(target, after), '$warmbox_baked'),
    'else',
    ...writeRecordLines(recordOf(target, before), '$warmbox_baked'),
    'fi',
    'exit "$warmbox_status"',
  ],
})

/** Writes that the checkout is at the wanted commit already. Who changed what in it is as unknown, or known, as before. */
export const recordScript = (target: SyncTarget, setup: SetupState): ScriptRun => ({
  code: 'SYNC_FAILED',
  name: 'record',
  lines: [...enterLocked(target), ...attributed([]), ...writeRecordLines(recordOf(target, setup), '$warmbox_baked')],
})
