import { posix } from 'node:path'
import type { SandboxForEnvd } from './sandbox.ts'
import type { SandboxUser } from './user.ts'

/** The path names another user's home, which envd does not expand. */
export class UnsupportedPathError extends Error {
  constructor(path: string) {
    super(`cannot expand the home of another user in '${path}'`)
    this.name = 'UnsupportedPathError'
  }
}

/**
 * The absolute path a client meant: nothing at all is the working directory, `~` the user's home, and anything else
 * that is relative starts in that home too (not in the working directory; this is how the platform does it).
 */
export function resolvePath(path: string, user: SandboxUser, sandbox: SandboxForEnvd): string {
  const given = path === '' ? (sandbox.defaultWorkdir ?? user.home) : path
  if (given.startsWith('~') && given !== '~' && !given.startsWith('~/')) throw new UnsupportedPathError(given)
  const expanded = given.startsWith('~') ? posix.join(user.home, given.slice(1)) : given
  const absolute = posix.normalize(posix.isAbsolute(expanded) ? expanded : posix.join(user.home, expanded))
  return absolute.length > 1 && absolute.endsWith('/') ? absolute.slice(0, -1) : absolute
}
