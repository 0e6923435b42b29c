import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, lchownSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { RuntimeError } from '../port.ts'
import { toolEnvironment } from './commands.ts'

/** First host uid of the range that the users of all machines map to, when the host user is root. */
const firstHostId = 100_000
const mappedIds = 65_536

/**
 * The user namespace all machines of a runtime live in: its root has power over what belongs to the namespace and none
 * over the host.
 *
 * - Host root: ids 0-65535 inside are 100000-165535 outside, which own nothing on the host.
 * - Any other user, and root of a container that lacks those ids: the kernel lets them map one id, so root and every
 *   other user inside are the host user; what keeps them from that user's files is that no machine has them in its tree.
 */
export interface UserNamespace {
  /** One id stands for every user inside. */
  readonly singleUser: boolean
  /** Keeps the namespace alive; children get it as their descriptor 3. */
  readonly fd: number
  /** Prefix that runs a command as the namespace's root; the child must have {@link fd} as its descriptor 3. */
  readonly enter: readonly [string, ...string[]]
  /** Gives a host path to the user and group of that number inside. Symlinks are not followed. */
  own(path: string, id: number): void
  close(): void
}

/** Creates the namespace. Rejects with `failed` where the host does not allow it. */
export async function createUserNamespace(): Promise<UserNamespace> {
  const singleUser = !canMapRange()
  const holder = spawn(
    'unshare',
    ['--user', ...(singleUser ? ['--map-root-user'] : []), 'sh', '-c', 'echo ready; read -r _'],
    { env: toolEnvironment, stdio: ['pipe', 'pipe', 'pipe'] },
  )
  let complaint = ''
  holder.stderr.on('data', (chunk: Buffer) => (complaint += chunk.toString()))
  const ended = new Promise<never>((_, reject) => {
    holder.once('error', (cause) => reject(new RuntimeError('failed', 'unshare could not be started', { cause })))
    holder.once('close', () => reject(new RuntimeError('failed', `no user namespace: ${complaint.trim()}`)))
  })
  // It ends in any case; only an end before the first line is an error.
  ended.catch(() => undefined)
  try {
    await Promise.race([once(holder.stdout, 'data'), ended])
    if (!singleUser) {
      for (const map of ['uid_map', 'gid_map'])
        writeFileSync(`/proc/${holder.pid}/${map}`, `0 ${firstHostId} ${mappedIds}`)
    }
    const fd = openSync(`/proc/${holder.pid}/ns/user`, 'r')
    return {
      singleUser,
      fd,
      enter: [
        'nsenter',
        '--user=/proc/self/fd/3',
        ...(singleUser ? ['--preserve-credentials'] : ['--setuid', '0', '--setgid', '0']),
        '--',
      ],
      own: (path, id) => {
        if (!singleUser) lchownSync(path, firstHostId + id, firstHostId + id)
      },
      close: () => closeSync(fd),
    }
  } finally {
    holder.stdin.on('error', () => undefined)
    holder.stdin.end()
  }
}

/** Root may map any ids it has itself; root of a container may have none above 65535. */
function canMapRange(): boolean {
  if (process.getuid?.() !== 0) return false
  return ['uid_map', 'gid_map'].every((map) =>
    readFileSync(`/proc/self/${map}`, 'utf8')
      .trim()
      .split('\n')
      .map((line) => line.trim().split(/\s+/).map(Number))
      .some(([first = 0, , count = 0]) => first <= firstHostId && first + count >= firstHostId + mappedIds),
  )
}
