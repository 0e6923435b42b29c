import path from 'node:path'
import { refuse } from './option-checks.ts'

/** Longest path Linux takes, in bytes, without the NUL that ends it. */
const LONGEST_PATH_BYTES = 4_095

/**
 * The path of a file in the one spelling that uploads and scripts in the home directory share: absolute, or from `./`
 * on. It means what E2B's daemon takes it for: `~` and whatever is relative begin in the user's home, not in a working
 * directory.
 * @throws E2BSandboxError `INVALID_OPTION` for what is no path, and for the home of another user, which E2B does not look up
 */
export function sandboxPath(given: unknown): string {
  if (typeof given !== 'string' || given === '' || given.includes('\0')) {
    return refuse('A file has no usable path', 'Give a path without NUL')
  }
  if (Buffer.byteLength(given) > LONGEST_PATH_BYTES) {
    return refuse('A file has a path that is too long', `Give one of at most ${LONGEST_PATH_BYTES} bytes`)
  }
  if (/^~[^/]/.test(given)) {
    return refuse(`A path begins in the home of another user: ${given}`, 'Write it from / on; a name with ~ from ./ on')
  }
  const isAbsolute = given.startsWith('/')
  const normal = path.posix.normalize(isAbsolute ? given : `./${given.replace(/^~\/*/, '')}`)
  const bare = normal.replace(/(?<=.)\/$/, '')
  return isAbsolute ? bare : `./${bare}`
}
