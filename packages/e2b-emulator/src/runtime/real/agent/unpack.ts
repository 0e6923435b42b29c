import type { Accounts, Failures, Ownership } from './accounts.ts'
import type { Bodies } from './bodies.ts'
import type { ServedCall } from './contract.ts'
import type { Files } from './files.ts'

export interface Unpacker {
  unpack(path: string, owner: string, mode: number | null, call: ServedCall): Promise<null>
}

/** Unpacks an archive beside its destination first, so that only what came from it changes owner and mode. */
export function createUnpacker(bodies: Bodies, accounts: Accounts, failures: Failures, files: Files): Unpacker {
  const fs = process.getBuiltinModule('node:fs')
  const { spawn } = process.getBuiltinModule('node:child_process')
  const { posix } = process.getBuiltinModule('node:path')

  const extract = async (directory: string, call: ServedCall): Promise<void> => {
    const tar = spawn('tar', ['-xzf', '-', '--no-same-owner', '-C', directory], {
      stdio: ['pipe', 'ignore', 'pipe'],
    })
    let complaint = ''
    tar.stderr.on('data', (chunk: Buffer) => (complaint = (complaint + chunk.toString()).slice(-2000)))
    // tar says itself what is wrong with the archive; that it stopped reading adds nothing.
    tar.stdin.on('error', () => undefined)
    const ended = new Promise<void>((done, fail) => {
      tar.once('error', fail)
      tar.once('close', (code) => {
        if (code === 0) done()
        else fail(failures.create('failed', `the archive could not be unpacked: ${complaint.trim()}`))
      })
    })
    const fed = async () => {
      for await (const chunk of bodies.receive(call)) {
        await new Promise<void>((taken) => tar.stdin.write(chunk, () => taken()))
        call.credit(chunk.length)
      }
      tar.stdin.end()
    }
    try {
      await Promise.all([fed(), ended])
    } finally {
      tar.kill('SIGKILL')
    }
  }

  /** Directories that exist keep owner and mode. */
  const place = (from: string, to: string, owner: Ownership, mode: number | null): void => {
    const source = fs.lstatSync(from)
    const existing = fs.statSync(to, { throwIfNoEntry: false })
    if (source.isDirectory()) {
      const isNew = existing === undefined
      if (isNew) {
        fs.rmSync(to, { force: true })
        fs.mkdirSync(to)
        accounts.own(to, owner)
      } else if (!existing.isDirectory()) {
        throw failures.create('not-directory', `${to} exists and is not a directory`)
      }
      for (const name of fs.readdirSync(from)) place(posix.join(from, name), posix.join(to, name), owner, mode)
      // Last: it may be one that nothing can be put into.
      if (isNew) fs.chmodSync(to, mode ?? source.mode & 0o7777)
      return
    }
    if (existing?.isDirectory()) throw failures.create('is-directory', `${to} is a directory`)
    try {
      fs.renameSync(from, to)
    } catch (error) {
      // The destination lies on another mount of the machine (`/usr`).
      if (!(error instanceof Error && 'code' in error && error.code === 'EXDEV')) throw error
      fs.rmSync(to, { force: true })
      fs.cpSync(from, to, { verbatimSymlinks: true, preserveTimestamps: true })
    }
    accounts.own(to, owner)
    if (mode !== null && !source.isSymbolicLink()) fs.chmodSync(to, mode)
  }

  return {
    async unpack(path, owner, mode, call) {
      const account = accounts.findOwner(owner)
      files.ensureDirectory(path, 'root')
      const staging = fs.mkdtempSync(posix.join(path, '.unpack-'))
      try {
        await extract(staging, call)
        for (const name of fs.readdirSync(staging))
          place(posix.join(staging, name), posix.join(path, name), account, mode)
      } finally {
        fs.rmSync(staging, { recursive: true, force: true })
      }
      return null
    },
  }
}
