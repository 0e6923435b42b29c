import { quoteShell } from '@warmbox/resolution'

/**
 * One build step as E2B runs it, `bash -l -c <text>`, which by itself goes on after a failing command. The first line
 * and the trap say in the build's log which step it is: the platform reports steps by number only.
 */
export const stepScript = (name: string, lines: readonly string[]): string =>
  [
    `# ${name}`,
    'set -euo pipefail',
    `warmbox_step=${quoteShell(name)}`,
    `trap 'warmbox_status=$?; if [ "$warmbox_status" -ne 0 ]; then echo "warmbox: $warmbox_step failed with exit code $warmbox_status" >&2; fi' EXIT`,
    ...lines,
  ].join('\n')

/** Ends the step with a sentence of its own. */
export const failFunction = `warmbox_fail() { echo "warmbox: $1" >&2; exit 1; }`
