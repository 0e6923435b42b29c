import type { Stats } from 'node:fs'
import { lstat, stat } from 'node:fs/promises'

import { fail } from './error.ts'
import { plain } from './plain.ts'
import { systemCode } from './system-code.ts'

/**
 * What lies at `path`, or `undefined` where nothing does. A link is not followed unless `links` says so.
 *
 * @throws ImageTagError `FILE_UNUSABLE` where the system does not let it be looked at.
 */
export async function present(path: string | Buffer, links: 'keep' | 'follow' = 'keep'): Promise<Stats | undefined> {
  try {
    return await (links === 'follow' ? stat(path) : lstat(path))
  } catch (error) {
    const code = systemCode(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    return cannotRead(path, error)
  }
}

/** Throws `FILE_UNUSABLE` for what the system said on reading; anything else as it is. */
export function cannotRead(path: string | Buffer, error: unknown): never {
  const code = systemCode(error)
  if (code === undefined) throw error
  fail('FILE_UNUSABLE', `${plain(path.toString())} cannot be read (${code}).`, 'Let this user read it.', error)
}
