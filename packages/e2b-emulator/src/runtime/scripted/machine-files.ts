import { posix } from 'node:path'
import { Parser, type ReadEntry } from 'tar'
import { RuntimeError, type FileEntry, type MachineFiles, type WriteOptions } from '../port.ts'
import { systemDirectories } from '../system-directories.ts'
import { SystemError } from '../system-errors.ts'
import { type FileTree } from './file-tree.ts'

/** {@link MachineFiles} over a tree in memory. */
export class ScriptedFiles implements MachineFiles {
  readonly #tree: FileTree
  readonly #now: () => Date

  constructor(tree: FileTree, now: () => Date) {
    this.#tree = tree
    this.#now = now
  }

  async stat(path: string): Promise<FileEntry> {
    return this.#tree.entry(path)
  }

  async list(path: string, depth: number): Promise<FileEntry[]> {
    return this.#tree.list(path, depth)
  }

  async makeDirectory(path: string, owner: string): Promise<boolean> {
    return this.#tree.makeDirectory(path, this.#attributes(owner, 0o755))
  }

  async move(from: string, to: string): Promise<FileEntry> {
    this.#tree.makeDirectory(posix.dirname(posix.resolve('/', to)), this.#attributes('root', 0o755))
    if (this.#isKept(from) || this.#isKept(to)) throw new SystemError('EBUSY', `rename ${from} ${to}`)
    this.#tree.move(from, to)
    return this.#tree.entry(to)
  }

  async remove(path: string): Promise<void> {
    if (this.#isKept(path)) throw new SystemError('EBUSY', `unlinkat ${path}`)
    this.#tree.remove(path)
  }

  async read(path: string): Promise<ReadableStream<Uint8Array>> {
    const node = this.#tree.get(path)
    if (node.kind !== 'file') throw new RuntimeError('is-directory', `path is a directory: ${path}`)
    const { content } = node
    return new ReadableStream({
      start(controller) {
        if (content.byteLength > 0) controller.enqueue(content)
        controller.close()
      },
    })
  }

  async write(
    path: string,
    content: ReadableStream<Uint8Array>,
    owner: string,
    options: WriteOptions = {},
  ): Promise<FileEntry> {
    this.#store(path, new Uint8Array(await new Response(content).arrayBuffer()), owner, options)
    return this.#tree.entry(path)
  }

  async concatenate(sources: readonly string[], path: string, owner: string): Promise<FileEntry> {
    const contents = sources.map((source) => {
      const node = this.#tree.get(source)
      if (node.kind !== 'file') throw new RuntimeError('is-directory', `source path is not a regular file: ${source}`)
      return node.content
    })
    this.#store(path, Buffer.concat(contents), owner, {})
    for (const source of sources) this.#tree.remove(source)
    return this.#tree.entry(path)
  }

  async unpack(
    archive: ReadableStream<Uint8Array>,
    path: string,
    options: { owner: string; mode?: number },
  ): Promise<void> {
    const { mode } = options
    const [owner = '', group = owner] = options.owner.split(':')
    const given = (bits: number) => ({ ...this.#attributes(owner, mode ?? bits), group })
    const contents = new Map<string, Uint8Array>()
    this.#tree.makeDirectory(path, this.#attributes('root', 0o755))
    for (const { entry, content } of await readArchive(archive)) {
      const target = posix.join(path, posix.resolve('/', entry.path))
      if (entry.type === 'Directory') {
        this.#tree.makeDirectory(posix.dirname(target), given(0o755))
        this.#tree.makeDirectory(target, given(entry.mode ?? 0o755))
        continue
      }
      const place = this.#tree.resolve(target, { followLast: false })
      if (this.#tree.find(place)?.kind === 'directory')
        throw new RuntimeError('is-directory', `${target} is a directory`)
      this.#tree.makeDirectory(posix.dirname(target), given(0o755))
      if (entry.type === 'SymbolicLink') {
        const link = { kind: 'symlink', target: entry.linkpath ?? '' } as const
        this.#tree.set(place, { ...given(0o777), mode: 0o777, ...link })
        continue
      }
      const whole = entry.type === 'Link' ? contents.get(entry.linkpath ?? '') : content
      if (whole === undefined) throw new RuntimeError('failed', `${entry.path} is another name of what is not there`)
      contents.set(entry.path, whole)
      this.#tree.set(place, { ...given(entry.mode ?? 0o644), kind: 'file', content: whole })
    }
  }

  async own(path: string, owner: string): Promise<void> {
    this.#tree.own(path, owner)
  }

  async homeOf(user: string): Promise<string> {
    const passwd = this.#tree.find('/etc/passwd')
    const lines = passwd?.kind === 'file' ? new TextDecoder().decode(passwd.content).split('\n') : []
    const home = lines.map((line) => line.split(':')).find(([name]) => name === user)?.[5]
    if (home === undefined) throw new RuntimeError('user-unknown', `unknown user ${user}`)
    return home
  }

  async watch(
    path: string,
    recursive: boolean,
    listener: (event: { name: string; type: 'create' | 'write' | 'remove' | 'rename' | 'chmod' }) => void,
  ): Promise<() => void> {
    if (this.#tree.get(path).kind !== 'directory')
      throw new RuntimeError('not-directory', `path is not a directory: ${path}`)
    const root = this.#tree.resolve(path)
    return this.#tree.onChange((change) => {
      const name = posix.relative(root, change.path) || '.'
      if (name.startsWith('../') || name === '..' || (!recursive && name.includes('/'))) return
      listener({ name, type: change.type })
    })
  }

  #store(path: string, content: Uint8Array, owner: string, { mode, metadata = {} }: WriteOptions): void {
    const resolved = this.#tree.resolve(path)
    const existing = this.#tree.find(resolved)
    if (existing?.kind === 'directory') throw new RuntimeError('is-directory', `path is a directory: ${path}`)
    this.#tree.makeDirectory(posix.dirname(resolved), this.#attributes(owner, 0o755))
    this.#tree.set(resolved, {
      ...this.#attributes(owner, mode ?? existing?.mode ?? 0o644),
      kind: 'file',
      content,
      metadata,
    })
  }

  #isKept(path: string): boolean {
    const resolved = this.#tree.resolve(path, { followLast: false })
    const prefix = resolved === '/' ? resolved : `${resolved}/`
    return systemDirectories.some((kept) => kept === resolved || kept.startsWith(prefix))
  }

  #attributes(owner: string, mode: number) {
    return { owner, group: owner, mode, modifiedAt: this.#now() }
  }
}

async function readArchive(archive: ReadableStream<Uint8Array>) {
  const entries: Promise<{ entry: ReadEntry; content: Uint8Array }>[] = []
  const parser = new Parser({
    onReadEntry: (entry) => entries.push(entry.concat().then((content) => ({ entry, content }))),
  })
  const ended = new Promise<void>((resolve, reject) => {
    parser.on('end', resolve)
    parser.on('error', reject)
    parser.on('abort', reject)
  })
  for await (const chunk of archive) parser.write(Buffer.from(chunk))
  parser.end()
  await ended
  return Promise.all(entries)
}
