/** What lies in a repository's own directory while somebody is in the middle of something. For the shell, as words. */
export const OPERATIONS = 'MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD BISECT_LOG rebase-merge rebase-apply'

/**
 * Lines that call `warmbox_keep untracked` where a file that git does not know, or ignores, is in the way of the commit
 * `warmbox_sha`: git would overwrite an ignored one without a word. In the way is also what has to go for a file to
 * become a directory or the other way round. For a checkout without changes, in its top directory.
 */
export const obstacleLines: readonly string[] = [
  'warmbox_unknown() { [ -n "$(git ls-files --others -- ":(literal)$1" | head -c 1 || true)" ]; }',
  'warmbox_seen=',
  "while IFS= read -r -d '' warmbox_added; do",
  // A directory is in the way with what it holds, anything else is itself.
  '  if [ -e "$warmbox_added" ] || [ -L "$warmbox_added" ]; then',
  '    if [ -L "$warmbox_added" ] || [ ! -d "$warmbox_added" ] || warmbox_unknown "$warmbox_added"; then warmbox_keep untracked; fi',
  '  fi',
  '  warmbox_parent="$warmbox_added"',
  '  while [ "${warmbox_parent%/*}" != "$warmbox_parent" ]; do',
  '    warmbox_parent="${warmbox_parent%/*}"',
  // Names come sorted: what lies in one directory follows each other.
  '    if [ "$warmbox_parent" = "$warmbox_seen" ]; then break; fi',
  '    if [ -L "$warmbox_parent" ] || { [ -e "$warmbox_parent" ] && [ ! -d "$warmbox_parent" ]; }; then',
  '      if warmbox_unknown "$warmbox_parent"; then warmbox_keep untracked; fi',
  '    fi',
  '  done',
  '  warmbox_seen="${warmbox_added%/*}"',
  `done < <(git diff --no-ext-diff --name-only --no-renames --diff-filter=A -z HEAD "$warmbox_sha" --)`,
]
