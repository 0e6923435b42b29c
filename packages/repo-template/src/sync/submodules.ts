import { quoteShell } from '@warmbox/resolution'
import { CREDENTIAL_VARIABLE } from '../build/build-environment.ts'
import { HEADER_VARIABLE } from '../checkout/git-lines.ts'

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
