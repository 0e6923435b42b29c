import { posix } from 'node:path'
import { RuntimeError, type FileEntry } from '../port.ts'
import { SystemError } from '../system-errors.ts'

interface NodeAttributes {
  readonly mode: number
  readonly owner: string
  readonly group: string
  readonly modifiedAt: Date
}

/** Nodes never change; a tree replaces them. So a copy of a tree is a copy of one map, however large its files are. */
export type FileNode = NodeAttributes &
  (
    | { readonly kind: 'file'; readonly content: Uint8Array; readonly metadata?: Readonly<Record<string, string>> }
    | { readonly kind: 'directory' }
    | { readonly kind: 'symlink'; readonly target: string }
  )

export type TreeChange = { readonly path: string; readonly type: 'create' | 'write' | 'remove' | 'rename' | 'chmod' }

/** The kernel's limits: links on one way, bytes of a path without its end, bytes of a name. */
const MAX_SYMLINKS = 40
const LONGEST_PATH = 4095
const LONGEST_NAME = 255

/** A file system in memory: absolute POSIX paths to immutable nodes. */
export class FileTree {
  readonly #nodes: Map<string, FileNode>
  readonly #listeners = new Set<(change: TreeChange) => void>()

  constructor(nodes: ReadonlyMap<string, FileNode>) {
    this.#nodes = new Map(nodes)
  }

  copy(): FileTree {
    return new FileTree(this.#nodes)
  }

  onChange(listener: (change: TreeChange) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Every node, parents before children. */
  entries(): [string, FileNode][] {
    return [...this.#nodes].toSorted(([left], [right]) => (left < right ? -1 : 1))
  }

  /**
   * The path with every symlink on the way followed; the last segment too unless told otherwise. It need not exist.
   * Throws what the kernel refuses such a path with.
   */
  resolve(path: string, options: { followLast: boolean } = { followLast: true }): string {
    const refuse = (name: string) => new SystemError(name, `stat ${path}`)
    if (path.includes('\0')) throw refuse('EINVAL')
    if (Buffer.byteLength(path) > LONGEST_PATH) throw refuse('ENAMETOOLONG')
    let pending = posix.resolve('/', path).split('/').filter(Boolean)
    let resolved = '/'
    let followed = 0
    while (pending.length > 0) {
      const [segment = '', ...rest] = pending
      if (Buffer.byteLength(segment) > LONGEST_NAME) throw refuse('ENAMETOOLONG')
      const next = posix.resolve(resolved, segment)
      const node = this.#nodes.get(next)
      if (node?.kind !== 'symlink' || (rest.length === 0 && !options.followLast)) {
        if (node?.kind === 'file' && rest.length > 0) throw refuse('ENOTDIR')
        resolved = next
        pending = rest
        continue
      }
      followed += 1
      if (followed > MAX_SYMLINKS) throw refuse('ELOOP')
      pending = [...posix.resolve(resolved, node.target).split('/').filter(Boolean), ...rest]
      resolved = '/'
    }
    return resolved
  }

  find(path: string): FileNode | undefined {
    return this.#nodes.get(this.resolve(path))
  }

  get(path: string): FileNode {
    const node = this.find(path)
    if (node === undefined) throw new SystemError('ENOENT', `stat ${path}`)
    return node
  }

  entry(path: string): FileEntry {
    const node = this.#nodes.get(this.resolve(path, { followLast: false }))
    if (node === undefined) throw new SystemError('ENOENT', `lstat ${path}`)
    const link = node.kind === 'symlink' ? this.#destination(path) : undefined
    const target = node.kind === 'symlink' ? link?.node : node
    return {
      name: posix.basename(path),
      path: posix.resolve('/', path),
      type: target === undefined || target.kind === 'symlink' ? 'other' : target.kind,
      size: sizeOf(node),
      mode: target?.mode ?? 0,
      owner: node.owner,
      group: node.group,
      modifiedAt: node.modifiedAt,
      ...(link === undefined ? {} : { symlinkTarget: link.path }),
      metadata: (target?.kind === 'file' && target.metadata) || {},
    }
  }

  /** Where a link leads in the end; itself where that is nowhere. */
  #destination(link: string): { readonly path: string; readonly node?: FileNode } {
    try {
      const path = this.resolve(link)
      const node = this.#nodes.get(path)
      return node === undefined ? { path: link } : { path, node }
    } catch (error) {
      if (error instanceof SystemError) return { path: link }
      throw error
    }
  }

  list(path: string, depth: number): FileEntry[] {
    if (this.get(path).kind !== 'directory') throw new RuntimeError('not-directory', `path is not a directory: ${path}`)
    const root = this.resolve(path)
    const prefix = root === '/' ? '/' : `${root}/`
    return this.entries()
      .map(([candidate]) => candidate)
      .filter((candidate) => candidate !== '/' && candidate.startsWith(prefix))
      .filter((candidate) => candidate.slice(prefix.length).split('/').length <= depth)
      .map((candidate) => ({
        ...this.entry(candidate),
        path: posix.join(posix.resolve('/', path), candidate.slice(prefix.length)),
      }))
  }

  /** Tells what the daemon does to get there: it makes or empties the path, gives it to its owner, and fills it. */
  set(path: string, node: FileNode): void {
    const existed = this.#nodes.has(path)
    this.#nodes.set(path, node)
    this.#emit({ path, type: existed ? 'write' : 'create' })
    this.#emit({ path, type: 'chmod' })
    if (node.kind === 'file' && node.content.byteLength > 0) this.#emit({ path, type: 'write' })
  }

  /** Creates the directory and its missing parents; false where it was there. */
  makeDirectory(path: string, attributes: NodeAttributes): boolean {
    const resolved = this.resolve(path)
    const existing = this.#nodes.get(resolved)
    if (existing?.kind === 'directory') return false
    if (existing !== undefined)
      throw new RuntimeError('not-directory', `path already exists but it is not a directory: ${path}`)
    this.makeDirectory(posix.dirname(resolved), attributes)
    this.set(resolved, { ...attributes, kind: 'directory' })
    return true
  }

  chmod(path: string, mode: number): void {
    const resolved = this.resolve(path)
    this.#nodes.set(resolved, { ...this.get(resolved), mode })
    this.#emit({ path: resolved, type: 'chmod' })
  }

  /** The path and all below it; nothing happens where it is not there. */
  own(path: string, owner: string): void {
    const resolved = this.resolve(path)
    for (const [key, node] of this.entries()) {
      const isHeld = key === resolved || key.startsWith(`${resolved}/`)
      if (!isHeld || node.owner === owner) continue
      this.#nodes.set(key, { ...node, owner, group: owner })
      this.#emit({ path: key, type: 'chmod' })
    }
  }

  move(from: string, to: string): void {
    const source = this.resolve(from, { followLast: false })
    const target = this.resolve(to, { followLast: false })
    const refuse = (name: string) => new SystemError(name, `rename ${from} ${to}`)
    const mover = this.#nodes.get(source)
    if (mover === undefined) throw refuse('ENOENT')
    if (source === target) return
    if (target.startsWith(`${source}/`)) throw refuse('EINVAL')
    const replaced = this.#nodes.get(target)
    if (replaced?.kind === 'directory') {
      if (mover.kind !== 'directory') throw refuse('EISDIR')
      if ([...this.#nodes.keys()].some((path) => path.startsWith(`${target}/`))) throw refuse('ENOTEMPTY')
    } else if (replaced !== undefined && mover.kind === 'directory') throw refuse('ENOTDIR')
    const moved = this.entries().filter(([path]) => path === source || path.startsWith(`${source}/`))
    for (const [path] of moved) this.#nodes.delete(path)
    // What a rename replaces is not told to be removed.
    this.#nodes.delete(target)
    this.#emit({ path: source, type: 'rename' })
    for (const [path, node] of moved) {
      const place = target + path.slice(source.length)
      this.#nodes.set(place, node)
      this.#emit({ path: place, type: 'create' })
    }
  }

  /** Removes the path and all below it; nothing happens where it is not there. */
  remove(path: string): void {
    const resolved = this.resolve(path, { followLast: false })
    const doomed = [...this.#nodes.keys()].filter((key) => key === resolved || key.startsWith(`${resolved}/`))
    // What lies in a directory goes before it.
    for (const key of doomed.toSorted().toReversed()) {
      this.#nodes.delete(key)
      this.#emit({ path: key, type: 'remove' })
    }
  }

  #emit(change: TreeChange): void {
    for (const listener of this.#listeners) listener(change)
  }
}

function sizeOf(node: FileNode): number {
  switch (node.kind) {
    case 'file':
      return node.content.byteLength
    case 'directory':
      return 0
    case 'symlink':
      return Buffer.byteLength(node.target)
  }
}
