import type { Stats } from 'node:fs'
import { lstat, stat } from 'node:fs/promises'

/** What lies at `path`, or `undefined` where nothing does. A link is not followed unless `links` says so. */
export async function present(path: string | Buffer, links: 'keep' | 'follow' = 'keep'): Promise<Stats | undefined> {
  try {
    return await (links === 'follow' ? stat(path) : lstat(path))
  } catch (error) {
    if (error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) {
      return undefined
    }
    throw error
  }
}
