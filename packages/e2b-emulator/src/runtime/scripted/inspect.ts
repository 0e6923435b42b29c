import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createOwnDirectory } from '../own-directory.ts'
import type { MountedImage } from '../port.ts'
import type { FileTree } from './file-tree.ts'

/** Writes a tree below a fresh temporary directory, for those who search it with tools that need real files. */
export async function writeTree(tree: FileTree): Promise<MountedImage> {
  const own = createOwnDirectory(tmpdir(), 'warmbox-scripted-')
  const directory = own.path
  for (const [path, node] of tree.entries()) {
    const target = join(directory, path)
    switch (node.kind) {
      case 'directory':
        await mkdir(target, { recursive: true })
        break
      case 'file':
        await writeFile(target, node.content)
        await chmod(target, node.mode | 0o400)
        break
      case 'symlink':
        await symlink(node.target, target)
        break
    }
  }
  return { directory, release: () => own.remove() }
}
