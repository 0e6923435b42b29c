import { randomUUID } from 'node:crypto'
import { claimDirectory } from '../own-directory.ts'
import { runTool } from '../real/commands.ts'
import { startKillerAndRemoval } from './janitor.ts'

/** Where images and machines lie, for this user alone. */
export interface PrivateDirectory {
  readonly path: string
  /** Begins the mark of every process of every machine. */
  readonly marker: string
  /** A name no one else has, relative to {@link path}. */
  allocate(kind: 'layer' | 'machine'): string
  /** Rejects with `failed` and the system's words, for files this user may not read too. */
  copy(from: string, to: string): Promise<void>
  /** Removes it in the background; what could not be goes with the whole directory in the end. */
  discard(name: string): void
  /** Kills what still runs in the machines, and removes everything. */
  close(): Promise<void>
}

/** The variable that says which machine a process belongs to. */
export const machineVariable = 'WARMBOX_MACHINE'

export function createPrivateDirectory(dataDirectory: string): PrivateDirectory {
  const marker = `${machineVariable}=${randomUUID()}/`
  const { path, janitor } = claimDirectory(dataDirectory, 'warmbox-unsafe-host-', (directory) =>
    startKillerAndRemoval({ environment: marker, directory }),
  )
  const leaving = new Set<Promise<unknown>>()
  let next = 0
  let closing = false

  const remove = async (name: string) => {
    // Directories that are closed to their own user cannot be emptied.
    await runTool(['chmod', '-R', 'u+rwX', '--', name], { cwd: path })
    await runTool(['rm', '-rf', '--', name], { cwd: path })
  }
  return {
    path,
    marker,
    allocate: (kind) => `${kind.slice(0, 1)}${(next++).toString(36)}`,
    async copy(from, to) {
      await runTool(['cp', '-a', '--reflink=auto', '--', from, to], { cwd: path })
    },
    discard(name) {
      if (closing) return
      // What could not be removed goes with the whole directory in the end.
      const work = remove(name)
        .catch(() => undefined)
        .finally(() => leaving.delete(work))
      leaving.add(work)
    },
    async close() {
      closing = true
      await Promise.all(leaving)
      await janitor.dismiss()
    },
  }
}
