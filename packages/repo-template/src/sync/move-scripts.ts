import { quoteShell } from '@warmbox/resolution'
import { CREDENTIAL_VARIABLE } from '../build/build-environment.ts'
import { fetchLines, hermeticGitLines, proofLines, whereLines } from '../checkout/git-lines.ts'
import { measureLines } from '../checkout/measure.ts'
import { partLines } from '../checkout/part-lines.ts'
import { attributed, knownLines, writeRecordLines } from '../checkout/record.ts'
import { obstacleLines, OPERATIONS } from './obstacles.ts'
import { assign, fieldLine, type ScriptRun } from './sandbox.ts'
import { carefulUpdateLines, plainFilesLines, submoduleWorkLines } from './submodules.ts'
import {
  credentialEnvironment,
  enter,
  enterLocked,
  PARTS_DUE,
  recordOf,
  type SetupState,
  type SyncTarget,
} from './target.ts'

/** Commits of the new head's history that are looked through for the checkout's; without their files, where the host can. */
const historyDepth = 256

/**
 * The user's settings, which are left out here, may say that a repository of somebody else is trusted: without that the
 * look that came before would have failed.
 */
const trustLines: readonly string[] = [
  'export "GIT_CONFIG_KEY_$GIT_CONFIG_COUNT=safe.directory" "GIT_CONFIG_VALUE_$GIT_CONFIG_COUNT=*"',
  'export GIT_CONFIG_COUNT="$((GIT_CONFIG_COUNT + 1))"',
]

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
    ...trustLines,
    assign('warmbox_sha', target.sha),
    // All of it: a fetch that was cut off may have left the commit without its files.
    'if ! git rev-list --quiet --objects --no-walk "$warmbox_sha^{commit}" 2>/dev/null; then',
    // A shallow checkout stays one; a complete one must not become shallow.
    'warmbox_depth=',
    'if [ "$(git rev-parse --is-shallow-repository)" = true ]; then warmbox_depth=--depth=1; fi',
    ...fetchLines(target.cloneUrl, target.sha, '$warmbox_depth'),
    'fi',
    ...whereLines,
    ...knownLines,
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
    'warmbox_redo() {',
    '  if [ -n "$warmbox_undone" ]; then git stash apply --quiet --index "$warmbox_undone" >/dev/null; fi',
    '  warmbox_mark',
    '}',
    'warmbox_keep() {',
    '  warmbox_redo',
    `  ${fieldLine('kept', '$1')}`,
    '  exit 0',
    '}',
    ...whereLines,
    ...measureLines,
    ...knownLines,
    // Another sync was faster.
    'if [ "$warmbox_head" = "$warmbox_sha" ]; then',
    `  ${fieldLine('lockfiles', '$warmbox_lockfiles')}`,
    '  exit 0',
    'fi',
    'if [ "$warmbox_head" != "$warmbox_known" ] && [ "$warmbox_head" != "$warmbox_contained" ]; then warmbox_keep commits; fi',
    'if git symbolic-ref --quiet HEAD >/dev/null; then warmbox_keep branch; fi',
    `for warmbox_operation in ${OPERATIONS}; do`,
    '  if [ -e "$warmbox_git_directory/$warmbox_operation" ]; then warmbox_keep changes; fi',
    'done',
    'if [ "$warmbox_worktree" != "$warmbox_clean" ] && [ "$warmbox_worktree" != "$warmbox_baked" ]; then warmbox_keep changes; fi',
    ...submoduleWorkLines,
    // What they would hide is known now, and git does not replace a file so marked.
    'if [ -n "$warmbox_marks" ]; then warmbox_unmark; fi',
    'if [ "$warmbox_worktree" != "$warmbox_clean" ]; then',
    '  warmbox_undone="$(git stash create "what setup had changed")" || warmbox_keep changes',
    '  if [ -n "$warmbox_undone" ]; then',
    `    git update-ref --create-reflog -m "sync to $warmbox_sha" ${UNDONE_REF} "$warmbox_undone"`,
    '  fi',
    '  GIT_LFS_SKIP_SMUDGE=1 git restore --source=HEAD --staged --worktree -- .',
    'fi',
    ...obstacleLines,
    ...(target.parts.submodules ? plainFilesLines('warmbox_keep untracked') : []),
    // Whatever would make it fail now, it says why.
    'git update-index -q --refresh || true',
    'if ! git read-tree --dry-run -m -u HEAD "$warmbox_sha"; then warmbox_redo; exit 1; fi',
    ...(target.parts.submodules || target.parts.lfs ? [`: > "$warmbox_git_directory/${PARTS_DUE}"`] : []),
    // LFS files come after the move; a filter would fetch them now, and without the credential.
    'export GIT_LFS_SKIP_SMUDGE=1',
    'if ! git -c core.hooksPath=/dev/null -c advice.detachedHead=false checkout --quiet --no-overwrite-ignore --detach "$warmbox_sha"; then',
    // Half of it may lie there, and would be somebody's work to the next sync. Nothing of anybody's was in its place.
    '  git diff --no-ext-diff --name-only --no-renames --diff-filter=A -z HEAD "$warmbox_sha" -- | xargs -0 -r rm -f --',
    '  git restore --source=HEAD --staged --worktree -- .',
    '  warmbox_redo',
    '  exit 1',
    'fi',
    'warmbox_mark',
    ...proofLines,
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
    assign('warmbox_sha', target.sha),
    ...hermeticGitLines(target.origin, CREDENTIAL_VARIABLE, target.credential?.scheme),
    ...trustLines,
    ...attributed([
      ...(target.parts.submodules
        ? [
            ...plainFilesLines('warmbox_fail "there are files of somebody where a submodule goes"'),
            'git submodule --quiet sync --recursive',
            ...carefulUpdateLines,
          ]
        : []),
      ...partLines(target.parts, 'online'),
    ]),
    ...writeRecordLines(recordOf(target, setup), '$warmbox_baked'),
    `rm -f -- "$warmbox_git_directory/${PARTS_DUE}"`,
  ],
})
