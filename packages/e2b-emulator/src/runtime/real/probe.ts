import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { claimDirectory } from '../own-directory.ts'
import { findOnHost, runTool } from './commands.ts'
import { stage, type Storage } from './mount-plan.ts'
import { refusalHints } from './refusal-hints.ts'
import { probeScript, unshareMachine } from './scripts.ts'
import { startRemoval } from './janitor.ts'
import { createUserNamespace, type UserNamespace } from './user-namespace.ts'

export type NamespaceProbe =
  | { readonly available: true; readonly how: string }
  | { readonly available: false; readonly reason: string }

let memo: Promise<NamespaceProbe> | undefined

/** Whether machines of the real runtime can run on this host; tries it for real, once per process. Never rejects. */
export function probeNamespaces(): Promise<NamespaceProbe> {
  memo ??= probe()
  return memo
}

async function probe(): Promise<NamespaceProbe> {
  if (process.platform !== 'linux') return { available: false, reason: 'namespaces exist on Linux only' }
  const missing = requiredTools.filter((name) => findOnHost(name) === undefined)
  if (missing.length > 0)
    return {
      available: false,
      reason: `missing on this host: ${missing.join(', ')} (Debian has them in bash, coreutils, mount, tar and util-linux)`,
    }
  try {
    const userNamespace = await createUserNamespace()
    try {
      const storage = await probeStorage(tmpdir(), userNamespace)
      return { available: true, how: describeChoice(storage, userNamespace.singleUser) }
    } finally {
      userNamespace.close()
    }
  } catch (error) {
    const hints = refusalHints(readOrUndefined, process.getuid?.() === 0)
    return { available: false, reason: [error instanceof Error ? error.message : String(error), ...hints].join('; ') }
  }
}

function readOrUndefined(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    // Not every kernel has every setting.
    return undefined
  }
}

const requiredTools = [
  'bash',
  'cp',
  'env',
  'mount',
  'nsenter',
  'pivot_root',
  'rm',
  'setpriv',
  'tar',
  'umount',
  'unshare',
]

const filesChoice: Readonly<Record<Storage, string>> = {
  overlay: 'overlay layers over a base image and the host’s read-only programs',
  tmpfs:
    'copies of images, because the data directory cannot carry an overlay, in memory (tmpfs) while half of what is free suffices, else on disk',
  copy: 'plain copies of images on disk, because the data directory cannot carry an overlay and no tmpfs can be mounted',
}

export function describeChoice(storage: Storage, singleUser: boolean): string {
  const files = filesChoice[storage]
  const users = singleUser
    ? 'root and every other user inside are the unprivileged host user'
    : 'users inside map to an unused range of host ids'
  return `namespaces (user, mount, pid, ipc, uts) with the host’s network; ${files}; ${users}`
}

/** What a directory can carry, found by mounting it. Rejects when namespaces do not work at all. */
export async function probeStorage(dataDirectory: string, userNamespace: UserNamespace): Promise<Storage> {
  const { path: directory, janitor } = claimDirectory(dataDirectory, 'warmbox-probe-', (path) =>
    startRemoval(path, userNamespace),
  )
  try {
    userNamespace.own(directory, 0)
    const proc = `proc ${stage}/proc proc nosuid,nodev,noexec 0 0`
    const overlay = 'userxattr,volatile,lowerdir=p/base:empty,upperdir=p/r/u,workdir=p/r/w'
    const attempt = (root: string) =>
      runTool(
        [...userNamespace.enter, ...unshareMachine, 'bash', '-c', probeScript, 'warmbox', 'p', `${root}\n${proc}`],
        { cwd: directory, fds: [userNamespace.fd] },
      )
    try {
      await attempt(`overlay ${stage} overlay ${overlay} 0 0`)
      return 'overlay'
    } catch {
      // The plain form decides: where it fails too, its error says that it is not about overlays.
      const plain = `p/base ${stage} none bind 0 0`
      const inMemory = attempt(`tmpfs p/memory tmpfs size=1m 0 0\n${plain}`).then(
        () => true,
        () => false,
      )
      if (await inMemory) return 'tmpfs'
      await attempt(plain)
      return 'copy'
    }
  } finally {
    await janitor.dismiss()
  }
}
