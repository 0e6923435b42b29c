import type { Accounts, Failures } from './accounts.ts'
import type { Bodies } from './bodies.ts'
import type { AgentFileEntry, ServedCall } from './contract.ts'
import type { Protocol } from './protocol.ts'

export interface Files {
  stat(path: string): AgentFileEntry
  list(path: string, depth: number): readonly AgentFileEntry[]
  makeDirectory(path: string, owner: string): boolean
  move(from: string, to: string): AgentFileEntry
  remove(path: string): null
  read(path: string, call: ServedCall): Promise<null>
  write(path: string, owner: string, mode: number | null, call: ServedCall): Promise<AgentFileEntry>
  /** Makes the directories of `path` that are missing and gives them to `owner`; the ones that exist stay as they are. */
  ensureDirectory(path: string, owner: string): void
}

/** File operations inside the machine, as root: the kernel resolves every symlink below the machine's own root. */
export function createFiles(protocol: Protocol, bodies: Bodies, accounts: Accounts, failures: Failures): Files {
  const fs = process.getBuiltinModule('node:fs')
  const { posix } = process.getBuiltinModule('node:path')
  const { execFileSync } = process.getBuiltinModule('node:child_process')

  const entry = (path: string): AgentFileEntry => {
    const own = fs.lstatSync(path)
    let symlinkTarget: string | null = null
    let isDirectory = own.isDirectory()
    if (own.isSymbolicLink()) {
      const resolved = fs.statSync(path, { throwIfNoEntry: false })
      symlinkTarget = resolved === undefined ? fs.readlinkSync(path) : fs.realpathSync(path)
      isDirectory = resolved?.isDirectory() === true
    }
    return {
      name: posix.basename(path),
      path,
      type: isDirectory ? 'directory' : 'file',
      size: own.size,
      mode: own.mode & 0o777,
      owner: accounts.userName(own.uid),
      group: accounts.groupName(own.gid),
      modifiedMs: own.mtimeMs,
      symlinkTarget,
    }
  }

  const ensureDirectory = (path: string, owner: string): void => {
    const account = accounts.find(owner)
    const missing: string[] = []
    for (let at = posix.resolve(path); ; at = posix.dirname(at)) {
      const found = fs.statSync(at, { throwIfNoEntry: false })
      if (found?.isDirectory()) break
      if (found !== undefined) throw failures.create('not-directory', `${at} is not a directory`)
      missing.unshift(at)
    }
    for (const directory of missing) {
      fs.mkdirSync(directory)
      accounts.own(directory, account)
    }
  }

  return {
    stat: (path) => entry(posix.resolve(path)),
    list(path, depth) {
      const top = posix.resolve(path)
      if (!fs.statSync(top).isDirectory()) throw failures.create('not-directory', `${path} is not a directory`)
      const entries: AgentFileEntry[] = []
      const walk = (directory: string, left: number) => {
        for (const name of fs.readdirSync(directory).toSorted()) {
          const child = posix.join(directory, name)
          const found = entry(child)
          entries.push(found)
          if (left > 1 && found.type === 'directory' && found.symlinkTarget === null) walk(child, left - 1)
        }
      }
      walk(fs.realpathSync(top), Math.max(1, depth))
      return entries
    },
    makeDirectory(path, owner) {
      const found = fs.statSync(path, { throwIfNoEntry: false })
      if (found?.isDirectory()) return false
      if (found !== undefined) throw failures.create('not-directory', `${path} exists and is not a directory`)
      ensureDirectory(path, owner)
      return true
    },
    move(from, to) {
      try {
        fs.renameSync(from, to)
      } catch (error) {
        // A directory of a lower layer, or another file system: the kernel refuses, mv copies.
        if (!(error instanceof Error && 'code' in error && error.code === 'EXDEV')) throw error
        execFileSync('mv', ['-T', '--', from, to])
      }
      return entry(posix.resolve(to))
    },
    remove(path) {
      fs.lstatSync(path)
      fs.rmSync(path, { recursive: true, force: true })
      return null
    },
    async read(path, call) {
      if (fs.statSync(path).isDirectory()) throw failures.create('is-directory', `${path} is a directory`)
      const file = await fs.promises.open(path, 'r')
      const window = protocol.createWindow()
      call.receive({ credit: (bytes) => window.release(bytes), cancel: () => window.close() })
      const stream = async () => {
        for await (const chunk of file.createReadStream({ highWaterMark: protocol.chunkBytes })) {
          if (!(await window.reserve(chunk.length))) return
          call.send('data', chunk)
        }
        call.send('end')
      }
      void stream().catch((error: unknown) => call.event({ type: 'failed', ...failures.describe(error) }))
      return null
    },
    async write(path, owner, mode, call) {
      const account = accounts.find(owner)
      if (fs.statSync(path, { throwIfNoEntry: false })?.isDirectory())
        throw failures.create('is-directory', `${path} is a directory`)
      ensureDirectory(posix.dirname(path), owner)
      const file = await fs.promises.open(path, 'w', mode ?? 0o666)
      try {
        for await (const chunk of bodies.receive(call)) {
          await file.writeFile(chunk)
          call.credit(chunk.length)
        }
        if (mode !== null) await file.chmod(mode)
      } finally {
        await file.close()
      }
      accounts.own(fs.realpathSync(path), account)
      return entry(posix.resolve(path))
    },
    ensureDirectory,
  }
}
