import { quoteShell } from '@warmbox/resolution'
import {
  boundedGitLines,
  enterLines,
  fetchLines,
  hermeticGitLines,
  initLines,
  offlineGitLines,
  proofLines,
} from '../checkout/git-lines.ts'
import { partLines } from '../checkout/part-lines.ts'
import { CREDENTIAL_VARIABLE, exportLines } from './build-environment.ts'
import { type CheckoutPlan, umaskLine } from './checkout-steps.ts'
import { failFunction, stepScript } from './step-script.ts'

/** Of an earlier build, whose checkout has another commit. */
export interface IncrementalPlan extends CheckoutPlan {
  readonly wanted: { readonly sha: string }
}

/** Holds what the steps have of the earlier build and leave to each other. */
const ownDirectory = '/home/user/.warmbox'

/**
 * Where the repository's own directory of the earlier build waits until its objects were used. Next to it, with names that
 * begin with its: the index of its files, what a clone of the new commit would hold, and lists.
 */
const parentLine = `warmbox_parent=${quoteShell(`${ownDirectory}/parent.git`)}`

/** Takes all of it away, and `others`. */
const forgetLine = (...others: readonly string[]): string =>
  ['rm -rf --', ...others, '"$warmbox_parent" "$warmbox_parent".*'].join(' ')

/** The new repository finds the objects of the earlier one. */
const borrowLine = `printf '%s\\n' "$warmbox_parent/objects" > .git/objects/info/alternates`

/**
 * Makes the directories of a commit, whose id is in `variable` and whose entries are in the index, what a clone makes of
 * them. git obeys a `.gitattributes` or `.gitignore` that setup left there (at the top a `.gitmodules` or `.lfsconfig` too),
 * even where it is ignored itself or about to be removed, and takes a directory with a `.git` in it for someone else's; of
 * a directory's mode it knows nothing. So the rules of a checkout would not be its commit's alone. A submodule is emptied,
 * as a clone leaves it: where an option asks for it, it is checked out anew.
 *
 * What is right is not touched, because file systems in layers would copy it. Tests of the shell's own, and one process
 * for all directories where there has to be one: there may be thousands.
 */
const ownDirectoryLines = (variable: 'warmbox_head' | 'warmbox_sha'): readonly string[] => [
  `git ls-tree -r -d -z "$${variable}" > "$warmbox_parent.directories"`,
  `mapfile -t -d '' warmbox_entries < "$warmbox_parent.directories"`,
  'warmbox_directories=(.) warmbox_submodules=() warmbox_wrong=() warmbox_rules=() warmbox_left=() warmbox_outside=',
  'for warmbox_entry in "${warmbox_entries[@]}"; do',
  `  warmbox_path="./\${warmbox_entry#*$'\\t'}"`,
  // What is behind a link is not the checkout's. git puts a directory in the link's place. Parents are listed first.
  '  case "$warmbox_path" in "$warmbox_outside"/*) continue ;; esac',
  '  if [ -L "$warmbox_path" ] || ! [ -d "$warmbox_path" ]; then',
  '    warmbox_outside="$warmbox_path"',
  '  elif [ "${warmbox_entry%% *}" = 160000 ]; then',
  '    warmbox_submodules+=("$warmbox_path")',
  '  else',
  // Else nothing can be asked of what is in it.
  '    [ -x "$warmbox_path" ] || chmod 00755 -- "$warmbox_path"',
  '    warmbox_directories+=("$warmbox_path")',
  '  fi',
  'done',
  `warmbox_modes="$(printf '%s\\0' "\${warmbox_directories[@]}" | xargs -0 stat --format=%a --)"`,
  'mapfile -t warmbox_modes <<< "$warmbox_modes"',
  'warmbox_candidates=(./.gitmodules ./.lfsconfig)',
  'for warmbox_index in "${!warmbox_directories[@]}"; do',
  '  warmbox_path="${warmbox_directories[warmbox_index]}"',
  '  [ "${warmbox_modes[warmbox_index]}" = 755 ] || warmbox_wrong+=("$warmbox_path")',
  '  if [ "$warmbox_path" != . ] && { [ -e "$warmbox_path/.git" ] || [ -L "$warmbox_path/.git" ]; }; then',
  '    warmbox_left+=("$warmbox_path/.git")',
  '  fi',
  '  warmbox_candidates+=("$warmbox_path/.gitattributes" "$warmbox_path/.gitignore")',
  'done',
  'for warmbox_rule in "${warmbox_candidates[@]}"; do',
  '  if [ -L "$warmbox_rule" ] || { [ -e "$warmbox_rule" ] && ! [ -d "$warmbox_rule" ]; }; then',
  '    warmbox_rules+=("$warmbox_rule")',
  '  fi',
  'done',
  'if [ "${#warmbox_rules[@]}" -gt 0 ]; then',
  `  git ls-files -z -- .gitmodules .lfsconfig ':(glob)**/.gitattributes' ':(glob)**/.gitignore' > "$warmbox_parent.rules"`,
  `  mapfile -t -d '' warmbox_entries < "$warmbox_parent.rules"`,
  '  declare -A warmbox_own=()',
  '  for warmbox_entry in "${warmbox_entries[@]}"; do warmbox_own["./$warmbox_entry"]=1; done',
  '  for warmbox_rule in "${warmbox_rules[@]}"; do',
  '    [ -n "${warmbox_own["$warmbox_rule"]-}" ] || warmbox_left+=("$warmbox_rule")',
  '  done',
  'fi',
  // Five digits: with fewer, chmod leaves a directory its setgid bit.
  `[ "\${#warmbox_wrong[@]}" = 0 ] || printf '%s\\0' "\${warmbox_wrong[@]}" | xargs -0 chmod 00755 --`,
  'warmbox_left+=("${warmbox_submodules[@]}")',
  `[ "\${#warmbox_left[@]}" = 0 ] || printf '%s\\0' "\${warmbox_left[@]}" | xargs -0 rm -rf --`,
  `[ "\${#warmbox_submodules[@]}" = 0 ] || printf '%s\\0' "\${warmbox_submodules[@]}" | xargs -0 mkdir --`,
]

/**
 * Takes pipes, sockets and devices of setup away, ignored ones too: whatever used them has ended. git does not see them,
 * but would wait for ever at a pipe in the place of a `.gitignore`.
 */
const specialFilesLine = String.raw`find . -xdev \( -type p -o -type s -o -type b -o -type c \) -delete`

/** Until nothing is removed, because git obeys a `.gitignore` that it is about to remove. A failed assignment ends the step. */
const cleanLines: readonly string[] = [
  'warmbox_removed=.',
  'while [ -n "$warmbox_removed" ]; do warmbox_removed="$(git clean -ffd)"; done',
]

/**
 * Leaves of the earlier checkout its tracked files, and what git ignores: installed dependencies and caches, for which
 * there is an earlier build at all. The repository's own directory is set aside as a whole, with refs, hooks, filters, marks
 * in the index and settings that setup may have left in it: what is tracked and what is ignored is asked of its commit
 * alone. No credential is in this step.
 */
export const retireScript = ({ directory, wanted }: IncrementalPlan): string =>
  stepScript('earlier checkout', [
    failFunction,
    umaskLine,
    ...offlineGitLines,
    parentLine,
    ...enterLines(quoteShell(directory)),
    '[ -d .git ] || warmbox_fail "there is no earlier checkout"',
    'export GIT_LFS_SKIP_SMUDGE=1',
    'warmbox_head="$(git rev-parse --verify HEAD)"',
    // What the host is told that it need not send again.
    'git update-ref refs/warmbox/parent "$warmbox_head"',
    `mkdir -p -- ${ownDirectory}`,
    forgetLine(),
    'mv -T -- .git "$warmbox_parent"',
    `git init --quiet --template=${wanted.sha.length === 64 ? ' --object-format=sha256' : ''}`,
    borrowLine,
    'git read-tree "$warmbox_head"',
    specialFilesLine,
    ...ownDirectoryLines('warmbox_head'),
    // What is as the commit has it keeps its time. What is not is the answer, and the next line's to deal with.
    'git update-index -q --refresh || true',
    // Setup may have changed what is ignored.
    'git checkout-index --all --force --index',
    ...cleanLines,
    // Of it the index is wanted.
    'mv -T -- .git "$warmbox_parent.retired"',
  ])

/**
 * Takes the work tree over to the commit: files that both have are left untouched, their times included. A second
 * cleaning, because the new commit may ignore less.
 */
const takeOverLines = (sha: string): readonly string[] => [
  'mv -f -- "$warmbox_parent.retired/index" .git/index',
  `warmbox_sha=${quoteShell(sha)}`,
  'export GIT_LFS_SKIP_SMUDGE=1',
  // Where the file system was copied, every file looks changed by its inode and would be written anew.
  'git update-index -q --refresh || true',
  'git -c advice.detachedHead=false checkout --quiet --force --detach "$warmbox_sha"',
  ...proofLines,
  ...ownDirectoryLines('warmbox_sha'),
  ...cleanLines,
  ...likeCloneLines,
  'unset GIT_LFS_SKIP_SMUDGE',
]

/**
 * To git a file is unchanged where its blob is. What a clone writes for the blob depends on attributes and settings too,
 * which are others now, or were others when the file was written. So the commit is written once more, next to the checkout,
 * and every file that is not the same, byte for byte and in its permissions, is taken from there.
 */
const likeCloneLines: readonly string[] = [
  'warmbox_reference="$warmbox_parent.reference"',
  'mkdir -- "$warmbox_reference"',
  'GIT_INDEX_FILE="$warmbox_parent.index" git --work-tree="$warmbox_reference" read-tree --reset -u "$warmbox_sha"',
  `git ls-files --stage -z | sed -z -n 's/^100[0-7]* [^\\t]*\\t//p' > "$warmbox_parent.names"`,
  `mapfile -t -d '' warmbox_names < "$warmbox_parent.names"`,
  // Of both files in one process each: those that are here, then what they are to be.
  'warmbox_measure() {',
  `  printf '%s\\0' "\${warmbox_names[@]/#/./}" "\${warmbox_names[@]/#/$warmbox_reference/}" | xargs -0 "$@" --`,
  '}',
  'warmbox_count="${#warmbox_names[@]}" warmbox_changed=()',
  'if [ "$warmbox_count" -gt 0 ]; then',
  '  warmbox_ids="$(warmbox_measure git hash-object --no-filters)"',
  '  warmbox_modes="$(warmbox_measure stat --format=%f)"',
  '  mapfile -t warmbox_ids <<< "$warmbox_ids"',
  '  mapfile -t warmbox_modes <<< "$warmbox_modes"',
  '  for warmbox_index in "${!warmbox_names[@]}"; do',
  '    warmbox_there="$((warmbox_index + warmbox_count))"',
  '    if [ "${warmbox_ids[warmbox_index]}${warmbox_modes[warmbox_index]}" != "${warmbox_ids[warmbox_there]}${warmbox_modes[warmbox_there]}" ]; then',
  '      warmbox_changed+=("${warmbox_names[warmbox_index]}")',
  '    fi',
  '  done',
  'fi',
  'if [ "${#warmbox_changed[@]}" -gt 0 ]; then',
  '  for warmbox_path in "${warmbox_changed[@]}"; do',
  '    cp --remove-destination -- "$warmbox_reference/$warmbox_path" "./$warmbox_path"',
  '  done',
  // A new index: to the old one a file of another length has changed, whatever is in it.
  '  git read-tree "$warmbox_sha"',
  '  git update-index -q --refresh || true',
  'fi',
]

/**
 * A new repository around the files there are. While it fetches it borrows the objects of the earlier one, so that the
 * host sends the difference; then it packs what the commit needs and nothing else, as a clone has it.
 */
export const renewScript = (plan: IncrementalPlan, names: readonly string[]): string =>
  stepScript('fetch', [
    failFunction,
    umaskLine,
    ...exportLines(names),
    ...hermeticGitLines(plan.clone.origin, CREDENTIAL_VARIABLE, plan.credential?.scheme),
    ...boundedGitLines(plan.cloneTimeoutMs),
    parentLine,
    ...initLines(plan.clone.cloneUrl, plan.wanted.sha, quoteShell(plan.directory)),
    borrowLine,
    // Without it git would look for what comes before the earlier commit.
    'if [ -e "$warmbox_parent/shallow" ]; then cp -- "$warmbox_parent/shallow" .git/shallow; fi',
    ...fetchLines(plan.clone.cloneUrl, plan.wanted.sha, '--depth=1'),
    ...takeOverLines(plan.wanted.sha),
    'git repack -a -d -n --quiet',
    forgetLine('.git/objects/info/alternates'),
    // Forgets that the earlier commit was where history ended.
    'git prune --expire=now',
    ...partLines(plan.parts, 'online'),
  ])

/** The same where the new repository was copied in and has everything. */
export const renewCopiedScript = (plan: IncrementalPlan): string =>
  stepScript('checkout', [
    failFunction,
    umaskLine,
    ...offlineGitLines,
    parentLine,
    `cd -- ${quoteShell(plan.directory)}`,
    'mkdir -p .git/objects .git/refs',
    'git init --quiet',
    ...takeOverLines(plan.wanted.sha),
    forgetLine(),
    ...partLines(plan.parts, 'offline'),
  ])
