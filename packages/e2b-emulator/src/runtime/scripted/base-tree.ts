import { FileTree, type FileNode } from './file-tree.ts'

const PASSWD = ['root:x:0:0:root:/root:/bin/bash', 'user:x:1000:1000::/home/user:/bin/bash', ''].join('\n')

const DIRECTORIES: readonly (readonly [path: string, owner: string, mode: number])[] = [
  ['/', 'root', 0o755],
  ['/etc', 'root', 0o755],
  ['/home', 'root', 0o755],
  ['/home/user', 'user', 0o755],
  ['/root', 'root', 0o700],
  ['/tmp', 'root', 0o1777],
  ['/usr', 'root', 0o755],
  ['/usr/local', 'root', 0o755],
  ['/var', 'root', 0o755],
]

/** What every scripted image starts from: the directories and users that callers of the platform rely on. */
export function baseTree(modifiedAt: Date): FileTree {
  const directories = DIRECTORIES.map(([path, owner, mode]): [string, FileNode] => [
    path,
    { kind: 'directory', owner, group: owner, mode, modifiedAt },
  ])
  const passwd: FileNode = {
    kind: 'file',
    content: new TextEncoder().encode(PASSWD),
    owner: 'root',
    group: 'root',
    mode: 0o644,
    modifiedAt,
  }
  return new FileTree(new Map([...directories, ['/etc/passwd', passwd]]))
}
