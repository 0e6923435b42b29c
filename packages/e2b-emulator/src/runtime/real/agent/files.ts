import type { Stats } from 'node:fs'
import type { Accounts, Failures } from './accounts.ts'
import type { Attributes } from './attributes.ts'
import type { Bodies } from './bodies.ts'
import type { AgentCalls, AgentFileEntry, AgentSettings, ServedCall } from './contract.ts'
import type { Protocol } from './protocol.ts'

export interface Files {
  stat(path: string): Promise<AgentFileEntry>
  list(path: string, depth: number): Promise<readonly AgentFileEntry[]>
  makeDirectory(path: string, owner: string): boolean
  move(from: string, to: string): Promise<AgentFileEntry>
  /** With all below it. Fails for what the machine needs and for mount points, before anything is removed. */
  remove(path: string): null
  read(path: string, call: ServedCall): Promise<null>
  write(parameters: AgentCalls['write']['parameters'], call: ServedCall): Promise<AgentFileEntry>
  /** All sources become one file, in their order, and are gone then. Fails without a trace. */
  concatenate(sources: readonly string[], path: string, owner: string): Promise<AgentFileEntry>
  /** The path and all below it. */
  own(path: string, owner: string): Promise<null>
  /** Makes the directories of `path` that are missing and gives them to `owner`; the ones that exist stay as they are. */
  ensureDirectory(path: string, owner: string): void
}

/** File operations inside the machine, as root: the kernel resolves every symlink below the machine's own root. */
export function createFiles(
  settings: AgentSettings,
  protocol: Protocol,
  bodies: Bodies,
  attributes: Attributes,
  accounts: Accounts,
  failures: Failures,
): Files {
  const fs = process.getBuiltinModule('node:fs')
  const { O_CREAT, O_NONBLOCK, O_RDONLY, O_TRUNC, O_WRONLY } = fs.constants
  const { posix } = process.getBuiltinModule('node:path')
  const { execFile, execFileSync } = process.getBuiltinModule('node:child_process')
  const execute = process.getBuiltinModule('node:util').promisify(execFile)

  type BareEntry = Omit<AgentFileEntry, 'metadata'>

  const destination = (link: string): { readonly target: string; readonly found?: Stats } => {
    try {
      return { target: fs.realpathSync(link), found: fs.statSync(link) }
    } catch {
      // It leads nowhere, in a circle, or through something that is no directory: an entry all the same.
      return { target: link }
    }
  }

  const bareEntry = (path: string): BareEntry => {
    const own = fs.lstatSync(path)
    const link = own.isSymbolicLink() ? destination(path) : undefined
    const found = link === undefined ? own : link.found
    const fileType = found?.isFile() === true ? 'file' : 'other'
    return {
      name: posix.basename(path),
      path,
      type: found?.isDirectory() === true ? 'directory' : fileType,
      size: own.size,
      mode: (found?.mode ?? 0) & 0o7777,
      owner: accounts.userName(own.uid),
      group: accounts.groupName(own.gid),
      modifiedMs: own.mtimeMs,
      symlinkTarget: link === undefined ? null : link.target,
    }
  }

  /** Asked for all at once. A link has the metadata of what it leads to. */
  const complete = async (entries: readonly BareEntry[]): Promise<AgentFileEntry[]> => {
    const found = await attributes.read(entries.map(({ path }) => path))
    return entries.map((entry, index) => ({ ...entry, metadata: found[index] ?? {} }))
  }

  const entry = async (path: string): Promise<AgentFileEntry> => {
    const bare = bareEntry(path)
    const [found = {}] = await attributes.read([path])
    return { ...bare, metadata: found }
  }

  const isFile = (path: string) => fs.statSync(path).isFile()

  const ensureDirectory = (path: string, owner: string): void => {
    const account = accounts.find(owner)
    const missing: string[] = []
    for (let at = posix.resolve(path); ; at = posix.dirname(at)) {
      const found = fs.statSync(at, { throwIfNoEntry: false })
      if (found?.isDirectory()) break
      if (found !== undefined) throw failures.refuse('ENOTDIR', `mkdir ${at}`)
      missing.unshift(at)
    }
    for (const directory of missing) {
      fs.mkdirSync(directory)
      accounts.own(directory, account)
    }
  }

  const holds = (top: string, other: string) => !posix.relative(top, other).startsWith('..')

  /** Nothing at or below `path` may be one of these; the kernel would refuse a mount only once it is empty. */
  const isKept = (path: string): boolean => {
    const absolute = posix.resolve(path)
    const real = posix.join(fs.realpathSync(posix.dirname(absolute)), posix.basename(absolute))
    const { root } = settings
    const inside = real === root ? '/' : real.startsWith(`${root}/`) ? real.slice(root.length) : real
    const mounts = fs
      .readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      // Blanks in names are written as octal numbers.
      .map((line) => (line.split(' ')[4] ?? '').replaceAll('\\040', ' '))
    return settings.kept.some((kept) => holds(inside, kept)) || mounts.some((mount) => holds(real, mount))
  }

  return {
    stat: (path) => entry(posix.resolve(path)),
    async list(path, depth) {
      const top = posix.resolve(path)
      if (!fs.statSync(top).isDirectory()) throw failures.create('not-directory', `path is not a directory: ${path}`)
      const entries: BareEntry[] = []
      const walk = (directory: string, left: number) => {
        for (const name of fs.readdirSync(directory).toSorted()) {
          const child = posix.join(directory, name)
          const found = bareEntry(child)
          entries.push(found)
          if (left > 1 && found.type === 'directory' && found.symlinkTarget === null) walk(child, left - 1)
        }
      }
      walk(top, Math.max(1, depth))
      return complete(entries)
    },
    makeDirectory(path, owner) {
      const found = fs.statSync(path, { throwIfNoEntry: false })
      if (found?.isDirectory()) return false
      if (found !== undefined) {
        throw failures.create('not-directory', `path already exists but it is not a directory: ${path}`)
      }
      ensureDirectory(path, owner)
      return true
    },
    move(from, to) {
      fs.lstatSync(from)
      if (isKept(from) || isKept(to)) throw failures.refuse('EBUSY', `rename ${from} ${to}`)
      try {
        fs.renameSync(from, to)
      } catch (error) {
        // A directory of a lower layer, or another file system: the kernel refuses, mv copies.
        if (!(error instanceof Error && 'code' in error && error.code === 'EXDEV')) throw error
        try {
          execFileSync('mv', ['-T', '--', from, to], { stdio: 'ignore' })
        } catch {
          // Its words are for a terminal; what the kernel said before is what a rename fails with.
          throw error
        }
      }
      return entry(posix.resolve(to))
    },
    remove(path) {
      fs.lstatSync(path)
      if (isKept(path)) throw failures.refuse('EBUSY', `unlinkat ${path}`)
      fs.rmSync(path, { recursive: true, force: true })
      return null
    },
    async read(path, call) {
      if (fs.statSync(path).isDirectory()) throw failures.create('is-directory', `path is a directory: ${path}`)
      // Without waiting for somebody who writes to a pipe: that would hold up other calls.
      const file = await fs.promises.open(path, O_RDONLY | O_NONBLOCK)
      const window = protocol.createWindow()
      call.receive({ credit: (bytes) => window.release(bytes), cancel: () => window.close() })
      const stream = async () => {
        for await (const chunk of file.createReadStream({ highWaterMark: protocol.chunkBytes })) {
          if (!(await window.reserve(chunk.length))) return
          call.send('data', chunk)
        }
        call.send('end')
      }
      void stream().catch((error: unknown) => call.event({ type: 'failed', failure: failures.describe(error) }))
      return null
    },
    async write({ path, owner, mode, metadata }, call) {
      const account = accounts.find(owner)
      const before = fs.statSync(path, { throwIfNoEntry: false })
      if (before?.isDirectory()) throw failures.create('is-directory', `path is a directory: ${path}`)
      ensureDirectory(posix.dirname(path), owner)
      // A pipe that nobody reads is refused.
      const file = await fs.promises.open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK, mode ?? 0o666)
      try {
        // Before its contents, which may break off. A device of the machine is its host's too, and stays whose it is.
        if (before === undefined || before.isFile()) accounts.own(fs.realpathSync(path), account)
        for await (const chunk of bodies.receive(call)) {
          await file.writeFile(chunk)
          call.credit(chunk.length)
        }
        if (mode !== null) await file.chmod(mode)
      } finally {
        await file.close()
      }
      const isNew = before === undefined
      // What a file has from its last writer is taken from it; a new one has nothing.
      if (!isNew || Object.keys(metadata).length > 0) await attributes.replace(path, metadata)
      return { ...bareEntry(posix.resolve(path)), metadata }
    },
    async concatenate(sources, path, owner) {
      const account = accounts.find(owner)
      for (const source of sources)
        if (!isFile(source)) throw failures.create('is-directory', `source path is not a regular file: ${source}`)
      ensureDirectory(posix.dirname(path), owner)
      const directory = fs.mkdtempSync(`${path}.composing-`)
      try {
        const whole = posix.join(directory, 'whole')
        const target = await fs.promises.open(whole, 'wx', 0o666)
        try {
          for (const source of sources) await target.writeFile(fs.createReadStream(source))
        } finally {
          await target.close()
        }
        accounts.own(whole, account)
        fs.renameSync(whole, path)
      } finally {
        fs.rmSync(directory, { recursive: true })
      }
      // Named twice, it is gone already.
      for (const source of sources) fs.rmSync(source, { force: true })
      return entry(posix.resolve(path))
    },
    async own(path, owner) {
      const { uid, gid } = accounts.find(owner)
      if (settings.singleUser || fs.lstatSync(path, { throwIfNoEntry: false }) === undefined) return null
      // Only what differs: on layered file systems touching a file copies it.
      const give = ['-exec', 'chown', '-h', `${uid}:${gid}`, '{}', '+']
      await execute('find', [path, '-ignore_readdir_race', '!', '-uid', String(uid), ...give])
      return null
    },
    ensureDirectory,
  }
}
