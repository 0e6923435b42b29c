import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { needles } from './fixtures.ts'

/** Paths of the files below a directory in which a credential is. */
export const filesWithNeedles = async (directory: string): Promise<readonly string[]> => {
  const files = (await readdir(directory, { recursive: true, withFileTypes: true })).filter((file) => file.isFile())
  const paths = files.map((file) => join(file.parentPath, file.name))
  const contents = await Promise.all(paths.map((path) => readFile(path, 'latin1')))
  return paths.filter((_path, index) => needles.some((needle) => contents[index]?.includes(needle) === true))
}
