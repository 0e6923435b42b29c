import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, writeFileSync } from 'node:fs'
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
 * - Any other user: the kernel lets them map one id, so root and every other user inside are the host user; what keeps
 *   them from that user's files is that no machine has them in its tree.
 */
export interface UserNamespace {
  /** One id stands for every user inside. */
  readonly singleUser: boolean
  /** Keeps the namespace alive; children get it as their descriptor 3. */
  readonly fd: number
  /** Prefix that runs a command as the namespace's root; the child must have {@link fd} as its descriptor 3. */
  readonly enter: readonly string[]
  /** The host's id of an id inside. */
  hostId(id: number): number
  close(): void
}

/** Creates the namespace. Rejects with `failed` where the host does not allow it. */
export async function createUserNamespace(): Promise<UserNamespace> {
  const isRoot = process.getuid?.() === 0
  const holder = spawn(
    'unshare',
    ['--user', ...(isRoot ? [] : ['--map-root-user']), 'sh', '-c', 'echo ready; read -r _'],
    { env: toolEnvironment, stdio: ['pipe', 'pipe', 'pipe'] },
  )
  let complaint = ''
  holder.stderr.on('data', (chunk: Buffer) => (complaint += chunk.toString()))
  const ended = new Promise<never>((_, reject) => {
    holder.once('error', (cause) => reject(new RuntimeError('failed', 'unshare could not be started', { cause })))
    holder.once('close', () => reject(new RuntimeError('failed', `no user namespace: ${complaint.trim()}`)))
  })
  try {
    await Promise.race([once(holder.stdout, 'data'), ended])
    if (isRoot) {
      for (const map of ['uid_map', 'gid_map'])
        writeFileSync(`/proc/${holder.pid}/${map}`, `0 ${firstHostId} ${mappedIds}`)
    }
    const fd = openSync(`/proc/${holder.pid}/ns/user`, 'r')
    return {
      singleUser: !isRoot,
      fd,
      enter: [
        'nsenter',
        '--user=/proc/self/fd/3',
        ...(isRoot ? ['--setuid', '0', '--setgid', '0'] : ['--preserve-credentials']),
        '--',
      ],
      hostId: (id) => (isRoot ? firstHostId + id : (process.getuid?.() ?? 0)),
      close: () => closeSync(fd),
    }
  } finally {
    ended.catch(() => undefined)
    holder.stdin.end()
  }
}
