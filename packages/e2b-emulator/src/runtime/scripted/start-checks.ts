import { posix } from 'node:path'
import { RuntimeError, type SpawnOptions } from '../port.ts'
import { SystemError } from '../system-errors.ts'
import type { FileTree } from './file-tree.ts'

/** The kernel's limits for one argument or variable, its end included, and for all of them with a usual stack. */
const LONGEST_ARGUMENT = 128 * 1024
const MOST_BYTES = 2 * 1024 * 1024

/** Throws what the system of a real machine would refuse the start of this command with. */
export function assertStartable(tree: FileTree, { command, args, env, user }: SpawnOptions, cwd: string): void {
  const refuse = (name: string) => new SystemError(name, `fork/exec ${command}`)
  const given = [command, ...args, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)]
  if ([cwd, ...given].some((text) => text.includes('\0'))) throw refuse('EINVAL')
  const directory = tree.find(cwd)
  if (directory === undefined) throw new RuntimeError('directory-missing', `cwd '${cwd}' does not exist`)
  const sizes = given.map((text) => Buffer.byteLength(text) + 1)
  const isTooLong =
    sizes.some((size) => size > LONGEST_ARGUMENT) || sizes.reduce((sum, size) => sum + size) > MOST_BYTES
  if (directory.kind !== 'directory') throw refuse('ENOTDIR')
  if (!mayEnter(tree, tree.resolve(cwd), user)) throw refuse('EACCES')
  if (isTooLong) throw refuse('E2BIG')
}

/** Whether the user may pass every directory on the way, and enter the last. */
function mayEnter(tree: FileTree, path: string, user: string): boolean {
  if (user === 'root') return true
  const { mode, owner, group } = tree.get(path)
  const others = group === user ? 0o010 : 0o001
  const isOpen = (mode & (owner === user ? 0o100 : others)) !== 0
  return isOpen && (path === '/' || mayEnter(tree, posix.dirname(path), user))
}
