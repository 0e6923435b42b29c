import { quoteShell } from '@warmbox/resolution'
import {
  boundedGitLines,
  checkoutLines,
  fetchLines,
  hermeticGitLines,
  initLines,
  offlineGitLines,
} from '../checkout/git-lines.ts'
import { partLines } from '../checkout/part-lines.ts'
import { CREDENTIAL_VARIABLE, exportLines } from './build-environment.ts'
import { type CheckoutPlan, umaskLine } from './checkout-steps.ts'
import { failFunction, stepScript } from './step-script.ts'

/** Of an earlier build, whose checkout has another commit. */
export interface IncrementalPlan extends CheckoutPlan {
  readonly wanted: { readonly sha: string }
}

/** Where the repository's own directory of the earlier build waits until its objects and its index were used. */
const parent = '/home/user/.warmbox/parent.git'
const parentLine = `warmbox_parent=${quoteShell(parent)}`

/** What a clone of the commit would hold is written here, to be compared with. */
const reference = '/home/user/.warmbox/reference'

/**
 * Makes the directories of a commit, whose id is in `variable` and whose entries are in the index, what a clone makes of
 * them. git obeys a `.gitattributes` or `.gitignore` that setup left there, even where it is ignored itself or about to be
 * removed, and takes a directory with a `.git` in it for someone else's; of a directory's mode it knows nothing. So the
 * rules of a checkout would not be its commit's alone. A submodule is emptied, as a clone leaves it: where an option asks
 * for it, it is checked out anew.
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
  'for warmbox_index in "${!warmbox_directories[@]}"; do',
  '  warmbox_path="${warmbox_directories[warmbox_index]}"',
  '  [ "${warmbox_modes[warmbox_index]}" = 755 ] || warmbox_wrong+=("$warmbox_path")',
  '  if [ "$warmbox_path" != . ] && { [ -e "$warmbox_path/.git" ] || [ -L "$warmbox_path/.git" ]; }; then',
  '    warmbox_left+=("$warmbox_path/.git")',
  '  fi',
  '  for warmbox_rule in "$warmbox_path/.gitattributes" "$warmbox_path/.gitignore"; do',
  '    if [ -L "$warmbox_rule" ] || { [ -e "$warmbox_rule" ] && ! [ -d "$warmbox_rule" ]; }; then',
  '      warmbox_rules+=("$warmbox_rule")',
  '    fi',
  '  done',
  'done',
  'if [ "${#warmbox_rules[@]}" -gt 0 ]; then',
  `  git ls-files -z -- ':(glob)**/.gitattributes' ':(glob)**/.gitignore' > "$warmbox_parent.rules"`,
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
    `cd -- ${quoteShell(directory)}`,
    // Inside of another checkout git would answer for that.
    '[ -d .git ] || warmbox_fail "there is no earlier checkout"',
    'export GIT_LFS_SKIP_SMUDGE=1',
    'warmbox_head="$(git rev-parse --verify HEAD)"',
    // What the host is told that it need not send again.
    'git update-ref refs/warmbox/parent "$warmbox_head"',
    'mkdir -p -- "$(dirname -- "$warmbox_parent")"',
    'rm -rf -- "$warmbox_parent" "$warmbox_parent".*',
    'mv -T -- .git "$warmbox_parent"',
    `git init --quiet --template=${wanted.sha.length === 64 ? ' --object-format=sha256' : ''}`,
    'mkdir -p .git/objects/info',
    `printf '%s\\n' "$warmbox_parent/objects" > .git/objects/info/alternates`,
    'git read-tree "$warmbox_head"',
    ...ownDirectoryLines('warmbox_head'),
    // What is as the commit has it keeps its time. What is not is the answer, and the next line's to deal with.
    'git update-index -q --refresh || true',
    // Setup may have changed what is ignored.
    'git checkout-index --all --force --index',
    ...cleanLines,
    'mv -f -- .git/index "$warmbox_parent/index"',
    'rm -rf .git',
  ])

/**
 * Takes the work tree over to the commit: files that both have are left untouched, their times included. A second
 * cleaning, because the new commit may ignore less.
 */
const takeOverLines = (sha: string): readonly string[] => [
  'cp -- "$warmbox_parent/index" .git/index',
  `warmbox_sha=${quoteShell(sha)}`,
  'export GIT_LFS_SKIP_SMUDGE=1',
  // Where the file system was copied, every file looks changed by its inode and would be written anew.
  'git update-index -q --refresh || true',
  'git -c advice.detachedHead=false checkout --quiet --force --detach "$warmbox_sha"',
  ...checkoutLines.slice(1),
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
  `warmbox_reference=${quoteShell(reference)}`,
  'rm -rf -- "$warmbox_reference" "$warmbox_reference".*',
  'mkdir -p -- "$warmbox_reference"',
  'GIT_INDEX_FILE="$warmbox_reference.index" git --work-tree="$warmbox_reference" read-tree --reset -u "$warmbox_sha"',
  `git ls-files --stage -z | sed -z -n 's/^100[0-7]* [^\\t]*\\t//p' > "$warmbox_reference.names"`,
  'warmbox_git_directory="$PWD/.git"',
  // In a shell of its own, so that the directory is left again.
  'warmbox_measure() (',
  '  cd -- "$1"',
  '  GIT_DIR="$warmbox_git_directory" xargs -0 -r git hash-object --no-filters -- < "$warmbox_reference.names" > "$2.ids"',
  '  xargs -0 -r stat --format=%f -- < "$warmbox_reference.names" > "$2.modes"',
  '  paste -- "$2.ids" "$2.modes" > "$2"',
  ')',
  'warmbox_measure . "$warmbox_reference.here"',
  'warmbox_measure "$warmbox_reference" "$warmbox_reference.there"',
  `while IFS= read -r -u 3 -d '' warmbox_path && IFS= read -r -u 4 warmbox_here && IFS= read -r -u 5 warmbox_there; do`,
  '  [ "$warmbox_here" = "$warmbox_there" ] || cp --remove-destination -- "$warmbox_reference/$warmbox_path" "$warmbox_path"',
  'done 3< "$warmbox_reference.names" 4< "$warmbox_reference.here" 5< "$warmbox_reference.there"',
  'rm -rf -- "$warmbox_reference" "$warmbox_reference".*',
  // A new index: to the old one a file of another length has changed, whatever is in it.
  'git read-tree "$warmbox_sha"',
  'git update-index -q --refresh || true',
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
    'mkdir -p .git/objects/info',
    `printf '%s\\n' "$warmbox_parent/objects" > .git/objects/info/alternates`,
    // Without it git would look for what comes before the earlier commit.
    'if [ -e "$warmbox_parent/shallow" ]; then cp -- "$warmbox_parent/shallow" .git/shallow; fi',
    ...fetchLines(plan.clone.cloneUrl, plan.wanted.sha, '--depth=1'),
    ...takeOverLines(plan.wanted.sha),
    'git repack -a -d --quiet',
    'rm -f .git/objects/info/alternates',
    'rm -rf -- "$warmbox_parent" "$warmbox_parent".*',
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
    'rm -rf -- "$warmbox_parent" "$warmbox_parent".*',
    ...partLines(plan.parts, 'offline'),
  ])
