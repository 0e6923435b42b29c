import * as fs from 'node:fs'
import { dirname, join } from 'node:path'
import type { Tree } from './trees.ts'
import type { UserNamespace } from './user-namespace.ts'

/** Writes files of the base image as the machine's users see them. */
export interface Planter {
  /** Host path of a path in the image; in the tree it belongs to. */
  locate(path: string): string
  directory(path: string, options?: { mode?: number; uid?: number }): void
  file(path: string, content: string, options?: { mode?: number; uid?: number }): void
  link(path: string, target: string): void
  /** Gives what lies at a path of the image, and below, to the machine's root. */
  adopt(path: string): void
}

/** `directory`: the layer's directory on the host. */
export function createPlanter(
  directory: string,
  trees: readonly Tree[],
  userNamespace: Pick<UserNamespace, 'own'>,
): Planter {
  const byDepth = trees.toSorted((a, b) => b.target.length - a.target.length)
  const locate = (path: string) => {
    const tree = byDepth.find(({ target }) => target === '/' || path === target || path.startsWith(`${target}/`))
    if (tree === undefined) throw new Error(`no tree for ${path}`)
    return join(directory, tree.key, tree.target === '/' ? path : path.slice(tree.target.length))
  }
  const makeDirectory = (path: string, mode = 0o755, uid = 0): void => {
    const at = locate(path)
    if (fs.existsSync(at)) return
    if (path !== '/') makeDirectory(dirname(path))
    fs.mkdirSync(at, { recursive: true })
    fs.chmodSync(at, mode)
    userNamespace.own(at, uid)
  }
  const adopt = (at: string): void => {
    userNamespace.own(at, 0)
    if (fs.lstatSync(at).isDirectory()) for (const name of fs.readdirSync(at)) adopt(join(at, name))
  }
  for (const tree of trees) {
    const at = join(directory, tree.key)
    fs.mkdirSync(at, { recursive: true, mode: 0o755 })
    userNamespace.own(at, 0)
  }
  return {
    locate,
    directory: (path, { mode, uid } = {}) => makeDirectory(path, mode, uid),
    file(path, content, { mode = 0o644, uid = 0 } = {}) {
      makeDirectory(dirname(path))
      const at = locate(path)
      fs.writeFileSync(at, content)
      userNamespace.own(at, uid)
      fs.chmodSync(at, mode)
    },
    link(path, target) {
      makeDirectory(dirname(path))
      fs.symlinkSync(target, locate(path))
      userNamespace.own(locate(path), 0)
    },
    adopt: (path) => adopt(locate(path)),
  }
}
