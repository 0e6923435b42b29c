import type { AgentSettings } from './contract.ts'
import type { RuntimeErrorCode } from '../../port.ts'

export interface Account {
  readonly name: string
  readonly uid: number
  readonly gid: number
  /** Below the root of the settings. */
  readonly home: string
}

export interface Accounts {
  /** Throws `user-unknown`. */
  find(user: string): Account
  userName(uid: number): string
  groupName(gid: number): string
  /** Gives a path to a user; nothing where one uid stands for all. Symlinks are not followed. */
  own(path: string, account: Account): void
}

export interface Failures {
  /** An error that keeps its code on the way to the host. */
  create(code: RuntimeErrorCode, message: string): Error
  /** Any thrown value as a code of the port and a sentence. */
  describe(error: unknown): { readonly code: RuntimeErrorCode; readonly message: string }
}

/** Maps what Node throws to the codes of the runtime port. */
export function createFailures(): Failures {
  const codes: Readonly<Record<string, RuntimeErrorCode>> = {
    ENOENT: 'not-found',
    EISDIR: 'is-directory',
    ENOTDIR: 'not-directory',
    EEXIST: 'exists',
    ENOTEMPTY: 'exists',
    ENOSPC: 'no-space',
    EDQUOT: 'no-space',
  }
  const raised = new WeakMap<Error, RuntimeErrorCode>()
  return {
    create(code, message) {
      const error = new Error(message)
      raised.set(error, code)
      return error
    },
    describe(error) {
      if (!(error instanceof Error)) return { code: 'failed', message: String(error) }
      const code = raised.get(error)
      if (code !== undefined) return { code, message: error.message }
      const systemCode = 'code' in error && typeof error.code === 'string' ? error.code : ''
      return { code: codes[systemCode] ?? 'failed', message: error.message }
    },
  }
}

/** The users of the machine, read from its own `/etc/passwd` on every question: a command may have changed it. */
export function createAccounts(settings: AgentSettings, failures: Failures): Accounts {
  const fs = process.getBuiltinModule('node:fs')
  const rows = (file: string): string[][] =>
    fs
      .readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line.includes(':'))
      .map((line) => line.split(':'))
  const users = `${settings.root}/etc/passwd`
  const nameById = (file: string, id: number): string =>
    rows(file).find((row) => Number(row[2]) === id)?.[0] ?? String(id)
  return {
    find(user) {
      const row = rows(users).find(([name]) => name === user)
      if (row === undefined) throw failures.create('user-unknown', `no user named ${user} in this machine`)
      return { name: user, uid: Number(row[2]), gid: Number(row[3]), home: settings.root + (row[5] || '/') }
    },
    userName: (uid) => nameById(users, uid),
    groupName: (gid) => nameById(`${settings.root}/etc/group`, gid),
    own(path, account) {
      if (!settings.singleUser) fs.lchownSync(path, account.uid, account.gid)
    },
  }
}
