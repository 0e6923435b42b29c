import { digestText } from '@warmbox/identity'

/**
 * Names of temporary directories tell the machine and the process that made them, so that those of processes which were
 * killed can be told from those in use; with a temporary directory that several machines share, too.
 */
const nameOf = (kind: Kind, machine: string, pid: number, rest: string): string =>
  `warmbox-${kind}-${machine}-${pid}-${rest}`

type Kind = 'upload' | 'host-git'

/** A path in the temporary directory that nobody can guess, so that nobody is there before. Nothing is made. */
export const ownPath = async (kind: Kind): Promise<string> => {
  const [{ randomUUID }, { tmpdir }, path] = await Promise.all([
    import('node:crypto'),
    import('node:os'),
    import('node:path'),
  ])
  return path.join(tmpdir(), nameOf(kind, await machineName(), process.pid, randomUUID()))
}

/** Makes a directory at such a path, for this user alone, and removes those that dead processes of this machine left. */
export const makeOwnDirectory = async (directory: string): Promise<void> => {
  const { mkdir } = await import('node:fs/promises')
  await removeLeft()
  // Not recursively: a directory that is there already is somebody else's.
  await mkdir(directory, { mode: 0o700 })
}

const removeLeft = async (): Promise<void> => {
  const [{ readdir, rm }, { tmpdir }, path] = await Promise.all([
    import('node:fs/promises'),
    import('node:os'),
    import('node:path'),
  ])
  const machine = await machineName()
  const names = await readdir(tmpdir()).catch(() => [])
  const left = names.filter((name) => {
    const [, of, pid] = /^warmbox-(?:upload|host-git)-([0-9a-f]{16})-(\d+)-[0-9a-f-]{36}$/.exec(name) ?? []
    return of === machine && !isAlive(Number(pid))
  })
  // One that cannot be removed is another user's, or being removed by somebody else: in neither case is it in the way.
  await Promise.allSettled(left.map((name) => rm(path.join(tmpdir(), name), { recursive: true, force: true })))
}

/** Process ids mean something on one machine, and in one container, only. */
const machineName = async (): Promise<string> => {
  const { hostname } = await import('node:os')
  return digestText(hostname()).slice(0, 16)
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: somebody else's, but alive.
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH')
  }
}
