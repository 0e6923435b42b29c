/**
 * Lines that hold a lock on `path`, a shell word, until the script ends: one of two syncs waits, at most `seconds`. The
 * kernel keeps it, on what is there anyway; so none outlives its script and nothing is left to remove. Programs the
 * script starts do not hold it: git may leave one behind. Without `flock` syncs of several processes are not kept
 * apart. Needs `warmbox_fail`.
 */
export const lockLines = (path: string, seconds: number): readonly string[] => [
  `exec 9< ${path}`,
  'if command -v flock >/dev/null; then',
  '  until flock -n 9; do',
  `    [ "$SECONDS" -lt ${seconds} ] || warmbox_fail "another sync of the checkout is still running"`,
  '    sleep 0.1',
  '  done',
  'fi',
  'git() { command git "$@" 9<&-; }',
]
