import { quoteShell } from '@warmbox/resolution'
import { CREDENTIAL_VARIABLE } from '../build/build-environment.ts'
import { HEADER_VARIABLE } from '../checkout/git-lines.ts'
import { OPERATIONS } from './obstacles.ts'

/** In a submodule, for `sh`: says so where files lie in the place of a submodule of its own. */
const plainFilesInside = [
  String.raw`git -c core.quotePath=false ls-files --stage | sed -n "s/^160000 [^\t]*\t//p" | while IFS= read -r nested; do`,
  '  if [ ! -e "$nested/.git" ] && [ -n "$(ls -A -- "$nested" 2>/dev/null)" ]; then echo "$nested"; fi',
  'done',
].join('\n')

/**
 * Lines that do `refuse`, shell text, where files lie in the place of a submodule of the commit `warmbox_sha` or of a
 * submodule that is there. To git such a submodule is only not checked out, and bringing it along would overwrite them.
 */
export const plainFilesLines = (refuse: string): readonly string[] => [
  "while IFS= read -r -d '' warmbox_submodule; do",
  `  if [ ! -e "$warmbox_submodule/.git" ] && [ -n "$(ls -A -- "$warmbox_submodule" 2>/dev/null)" ]; then ${refuse}; fi`,
  String.raw`done < <(git ls-tree -r -z "$warmbox_sha" | sed -z -n 's/^160000 commit [^\t]*\t//p')`,
  `warmbox_plain="$(git submodule --quiet foreach --recursive ${quoteShell(plainFilesInside)})"`,
  `if [ -n "$warmbox_plain" ]; then ${refuse}; fi`,
]

/**
 * In a submodule, for `sh`: answers `branch` or `changes` where somebody works in it. Marks in its index, or its settings, may
 * hide it.
 */
const workInside = [
  'if git symbolic-ref --quiet HEAD >/dev/null; then echo branch; fi',
  `for operation in ${OPERATIONS}; do`,
  '  if [ -e "$(git rev-parse --git-path "$operation")" ]; then echo changes; fi',
  'done',
  'if git ls-files -v | grep -q "^[a-zS]"; then echo changes; fi',
  'if [ -n "$(git -c core.fsmonitor=false status --porcelain --untracked-files=no --ignore-submodules=none)" ]; then echo changes; fi',
].join('\n')

/** The same where the submodule gives way to something else: whatever the commit does not have goes with it. */
const leftInside =
  'if [ -n "$(git -c core.fsmonitor=false status --porcelain --ignored --untracked-files=all)" ]; then echo untracked; fi'

/**
 * Lines that call `warmbox_keep` with the reason where the move to the commit `warmbox_sha` would touch a submodule in
 * which somebody works. What setup changed in one counts as that too: it cannot be told from what came after.
 */
export const submoduleWorkLines: readonly string[] = [
  'warmbox_in_submodules() (',
  '  cd -- "$1"',
  '  { bash -c "$2"; git submodule --quiet foreach --recursive "$2" || echo changes; } | sed -n 1p',
  ')',
  "while IFS= read -r -d '' warmbox_entry && IFS= read -r -d '' warmbox_submodule; do",
  '  case "$warmbox_entry" in',
  '    :160000*) ;;',
  '    *) continue ;;',
  '  esac',
  '  warmbox_work=',
  '  if [ -e "$warmbox_submodule/.git" ]; then',
  `    warmbox_work="$(warmbox_in_submodules "$warmbox_submodule" ${quoteShell(workInside)})"`,
  '    case "$warmbox_entry" in',
  // To a file or a link. A directory in its place is a removed submodule, which stays with what is in it.
  `      *" T") warmbox_work="\${warmbox_work:-$(warmbox_in_submodules "$warmbox_submodule" ${quoteShell(leftInside)})}" ;;`,
  '    esac',
  '  elif [ "${warmbox_entry##* }" = T ] && [ -n "$(ls -A -- "$warmbox_submodule" 2>/dev/null)" ]; then',
  '    warmbox_work=untracked',
  '  fi',
  '  if [ -n "$warmbox_work" ]; then warmbox_keep "$warmbox_work"; fi',
  'done < <(git diff --no-ext-diff --raw --no-renames --ignore-submodules=none -z HEAD "$warmbox_sha" --)',
]

/**
 * How git then checks a submodule out: an ignored file in the way stays and ends the command, and filters that somebody has
 * set up in there see no credential. LFS files come afterwards.
 */
const update = [
  '!env',
  ...[CREDENTIAL_VARIABLE, HEADER_VARIABLE, 'GIT_CONFIG_COUNT'].map((name) => `-u ${name}`),
  'GIT_LFS_SKIP_SMUDGE=1 git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c advice.detachedHead=false',
  'checkout --quiet --detach --no-overwrite-ignore',
].join(' ')

/**
 * Lines after which every submodule that is there, or named by the checkout's `.gitmodules`, is updated so. One that is
 * cloned only then is empty and holds nothing of anybody's. They need `hermeticGitLines`, whose settings they add to.
 */
export const carefulUpdateLines: readonly string[] = [
  'while IFS= read -r warmbox_name; do',
  '  export "GIT_CONFIG_KEY_$GIT_CONFIG_COUNT=submodule.$warmbox_name.update"',
  `  export "GIT_CONFIG_VALUE_$GIT_CONFIG_COUNT="${quoteShell(update)}`,
  '  export GIT_CONFIG_COUNT="$((GIT_CONFIG_COUNT + 1))"',
  'done < <(',
  String.raw`  git config --file .gitmodules --name-only --get-regexp '^submodule\..*\.path$' | sed 's/^submodule\.//; s/\.path$//' || true`,
  `  git submodule --quiet foreach --recursive ${quoteShell('printf "%s\\n" "$name"')}`,
  ')',
]
