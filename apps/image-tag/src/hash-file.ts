import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'

/** SHA-256 of a file's bytes as they lie on disk, in lower-case hex; however large, it is never held as a whole. */
export async function hashFile(path: string | Buffer): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk)
  return hash.digest('hex')
}

/** The same of bytes at hand. */
export const hashBytes = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
