import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'

import { cannotRead } from './present.ts'

/**
 * SHA-256 of a file's bytes as they lie on disk, in lower-case hex; however large, it is never held as a whole.
 *
 * @throws ImageTagError `FILE_UNUSABLE`
 */
export async function hashFile(path: string | Buffer): Promise<string> {
  const hash = createHash('sha256')
  try {
    for await (const chunk of createReadStream(path)) hash.update(chunk)
  } catch (error) {
    cannotRead(path, error)
  }
  return hash.digest('hex')
}

/** The same of bytes at hand. */
export const hashBytes = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
