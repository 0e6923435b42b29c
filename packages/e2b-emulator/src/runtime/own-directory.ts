import { randomUUID } from 'node:crypto'
import { mkdirSync, realpathSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { EmulatorError } from '../errors.ts'
import { removalOf, startJanitor, type Janitor } from './janitor.ts'

/** A directory on the host that does not outlive this process, however that ends. */
export interface OwnDirectory {
  readonly path: string
  remove(): Promise<void>
}

/** Makes one in `parent`, for this user alone. Throws `DATA_DIRECTORY_UNUSABLE` where that cannot be. */
export function createOwnDirectory(parent: string, prefix: string): OwnDirectory {
  const { path, janitor } = claimDirectory(parent, prefix, (directory) => startJanitor(removalOf(directory)))
  return {
    path,
    async remove() {
      await rm(path, { recursive: true, force: true })
      // Where it could not be started, there was none to clean up after a crash; now nothing is left to clean up.
      await janitor.dismiss().catch(() => undefined)
    },
  }
}

/**
 * Makes a directory with a name of its own in `parent`, and `parent` too, and has a janitor in wait before it is there.
 * Throws `DATA_DIRECTORY_UNUSABLE` where that cannot be.
 */
export function claimDirectory(
  parent: string,
  prefix: string,
  start: (directory: string) => Janitor,
): { readonly path: string; readonly janitor: Janitor } {
  const path = join(madeDirectory(parent), `${prefix}${randomUUID()}`)
  const janitor = start(path)
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    // The directory that could not be made is the error; there is nothing to clean up after.
    janitor.dismiss().catch(() => undefined)
    throw unusable(parent, error)
  }
  return { path, janitor }
}

function madeDirectory(path: string): string {
  try {
    mkdirSync(path, { recursive: true })
    return realpathSync(path)
  } catch (error) {
    throw unusable(path, error)
  }
}

const unusable = (parent: string, cause: unknown) =>
  new EmulatorError(
    'DATA_DIRECTORY_UNUSABLE',
    `no directory can be made in ${parent}: ${cause instanceof Error ? cause.message : String(cause)}`,
    { hint: 'Name one that this user may write to with the option dataDirectory.', cause },
  )
