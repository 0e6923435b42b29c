import { posix } from 'node:path'
import {
  type CopyOptions,
  type FileContent,
  type FileEntry,
  FileNotFoundError,
  type FileStat,
  IsDirectoryError,
  type ListOptions,
  MastraFilesystem,
  NotDirectoryError,
  type ProviderStatus,
  type ReadOptions,
  type RemoveOptions,
  type WriteOptions,
} from '@mastra/core/workspace'
import { type E2BSandbox, isWarmboxError } from '@warmbox/sandbox'
import { type EntryInfo, FileType } from 'e2b'

/**
 * The files of a sandbox as a workspace's file tools want them, so that these and its commands see the same ones. Paths
 * are taken below `basePath`.
 */
export class SandboxFilesystem extends MastraFilesystem {
  readonly id: string
  readonly name = 'SandboxFilesystem'
  readonly provider = 'e2b'
  status: ProviderStatus = 'ready'
  readonly basePath: string
  readonly #sandbox: E2BSandbox
  readonly #appends = new Map<string, Promise<void>>()

  constructor(sandbox: E2BSandbox, basePath: string) {
    super({ name: 'SandboxFilesystem' })
    this.#sandbox = sandbox
    this.id = `${sandbox.id}-files`
    this.basePath = basePath
  }

  async readFile(path: string, options: ReadOptions = {}): Promise<string | Buffer> {
    const bytes = Buffer.from(await this.#files((files, absolute) => files.read(absolute, { format: 'bytes' }), path))
    return options.encoding === undefined ? bytes : bytes.toString(options.encoding)
  }

  async writeFile(path: string, content: FileContent, options: WriteOptions = {}): Promise<void> {
    if (options.overwrite === false && (await this.exists(path))) throw new Error(`${path} exists already`)
    await this.#sandbox.writeFiles([{ path: this.#absolute(path), content: bytesOf(content) }])
  }

  /** One after the other for each file: every one reads what the one before has written. */
  async appendFile(path: string, content: FileContent): Promise<void> {
    const absolute = this.#absolute(path)
    const append = (): Promise<void> => this.#append(path, content)
    const appending = (this.#appends.get(absolute) ?? Promise.resolve()).then(append, append)
    this.#appends.set(absolute, appending)
    try {
      await appending
    } finally {
      if (this.#appends.get(absolute) === appending) this.#appends.delete(absolute)
    }
  }

  async #append(path: string, content: FileContent): Promise<void> {
    const before = (await this.exists(path)) ? Buffer.from(await this.readFile(path)) : Buffer.alloc(0)
    await this.writeFile(path, Buffer.concat([before, bytesOf(content)]))
  }

  async deleteFile(path: string, options: RemoveOptions = {}): Promise<void> {
    const type = await this.#typeOf(path, options)
    if (type === undefined) return
    if (type === 'directory') throw new IsDirectoryError(path)
    await this.#remove(path)
  }

  async copyFile(source: string, target: string, options: CopyOptions = {}): Promise<void> {
    await this.writeFile(target, await this.readFile(source), options)
  }

  async moveFile(source: string, target: string, options: CopyOptions = {}): Promise<void> {
    if (options.overwrite === false && (await this.exists(target))) throw new Error(`${target} exists already`)
    await this.#files((files, absolute) => files.rename(absolute, this.#absolute(target)), source)
  }

  async mkdir(path: string): Promise<void> {
    await this.#files((files, absolute) => files.makeDir(absolute), path)
  }

  async rmdir(path: string, options: RemoveOptions = {}): Promise<void> {
    const type = await this.#typeOf(path, options)
    if (type === undefined) return
    if (type === 'file') throw new NotDirectoryError(path)
    const isEmpty = options.recursive === true || (await this.readdir(path)).length === 0
    if (!isEmpty) throw new Error(`${path} is not empty`)
    await this.#remove(path)
  }

  async readdir(path: string, options: ListOptions = {}): Promise<FileEntry[]> {
    const depth = options.recursive === true ? (options.maxDepth ?? 20) : 1
    const entries = await this.#files((files, absolute) => files.list(absolute, { depth }), path)
    const extensions = [options.extension ?? []].flat()
    return entries
      .filter(({ name }) => extensions.length === 0 || extensions.some((extension) => name.endsWith(extension)))
      .map((entry) => ({
        name: posix.relative(this.#absolute(path), entry.path),
        type: typeOf(entry),
        size: entry.size,
      }))
  }

  exists(path: string): Promise<boolean> {
    return this.#files((files, absolute) => files.exists(absolute), path)
  }

  async stat(path: string): Promise<FileStat> {
    const entry = await this.#files((files, absolute) => files.getInfo(absolute), path)
    const modifiedAt = entry.modifiedTime ?? new Date(0)
    return {
      name: entry.name,
      path: entry.path,
      type: typeOf(entry),
      size: entry.size,
      createdAt: modifiedAt,
      modifiedAt,
    }
  }

  /** What is to be removed; undefined for nothing, which is an error unless `force` is given: E2B removes it silently. */
  async #typeOf(path: string, options: RemoveOptions): Promise<'file' | 'directory' | undefined> {
    try {
      return (await this.stat(path)).type
    } catch (error) {
      if (options.force === true && error instanceof FileNotFoundError) return undefined
      throw error
    }
  }

  async #remove(path: string): Promise<void> {
    await this.#files((files, absolute) => files.remove(absolute), path)
  }

  #absolute(path: string): string {
    const isInside = path === this.basePath || path.startsWith(`${this.basePath}/`)
    return isInside ? posix.normalize(path) : posix.join(this.basePath, posix.join('/', path))
  }

  async #files<T>(use: (files: E2BSandbox['e2b']['files'], absolute: string) => Promise<T>, path: string): Promise<T> {
    const absolute = this.#absolute(path)
    try {
      return await this.#sandbox.retryOnDead(() => use(this.#sandbox.e2b.files, absolute), { repeatable: true })
    } catch (error) {
      // The tools take this class, and no other, for a file that may be written anew.
      throw isWarmboxError(error) && error.code === 'NOT_FOUND' ? new FileNotFoundError(path) : error
    }
  }
}

const typeOf = ({ type }: EntryInfo): 'file' | 'directory' => (type === FileType.DIR ? 'directory' : 'file')

const bytesOf = (content: FileContent): Buffer => Buffer.from(content)
