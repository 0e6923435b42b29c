import { removalOf, startJanitor, type Janitor } from '../janitor.ts'
import type { UserNamespace } from './user-namespace.ts'

/** Removes a directory that machines work in, when this process ends or on request. */
export function startRemoval(directory: string, userNamespace: UserNamespace): Janitor {
  // Files of a machine may be unreadable to the host user who stands for its root, but not to that root.
  const [command, ...args] = [...(userNamespace.singleUser ? userNamespace.enter : []), ...removalOf(directory)]
  return startJanitor([command, ...args], [userNamespace.fd])
}
