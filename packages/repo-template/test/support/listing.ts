import { createHash } from 'node:crypto'
import { lstat, readdir, readFile, readlink } from 'node:fs/promises'
import { join, relative } from 'node:path'

/** Path, permissions and content of everything below a directory, without the paths that match `except`. */
export const listing = async (directory: string, except: RegExp): Promise<readonly string[]> => {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const lines = entries.map(async (entry) => {
    const path = join(entry.parentPath, entry.name)
    const name = relative(directory, path)
    if (except.test(name)) return []
    const { mode } = await lstat(path)
    const content = entry.isSymbolicLink() ? await readlink(path) : entry.isFile() ? await readFile(path) : ''
    return [`${name} ${mode.toString(8)} ${createHash('sha256').update(content).digest('hex')}`]
  })
  return (await Promise.all(lines)).flat().toSorted()
}
