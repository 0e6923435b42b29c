import type { AgentFailure, AgentSettings } from './contract.ts'
import type { RuntimeErrorCode } from '../../port.ts'

export interface Ownership {
  readonly uid: number
  readonly gid: number
}

export interface Account extends Ownership {
  readonly name: string
  /** Below the root of the settings. */
  readonly home: string
}

export interface Accounts {
  /** Throws `user-unknown`. */
  find(user: string): Account
  /** As chown is told it: `user` or `user:group`, names or numbers. Throws `user-unknown`. */
  findOwner(owner: string): Ownership
  userName(uid: number): string
  groupName(gid: number): string
  /** Gives a path to a user; nothing where one uid stands for all. Symlinks are not followed. */
  own(path: string, owner: Ownership): void
  /**
   * Whether the user may enter the directory, by the bits of all on the way to it. A command starts in its directory
   * before it becomes its user's, so that nobody else asks. True where one uid stands for all.
   */
  mayEnter(directory: string, account: Account): boolean
}

export interface Failures {
  /** An error that keeps its code on the way to the host. */
  create(code: RuntimeErrorCode, message: string): Error
  /** What the system itself would have refused with: `EBUSY` for `unlinkat /proc`. */
  refuse(system: string, attempt: string): Error
  /** Any thrown value as the host is told of it. Its words for what a system refused with are none of Node's. */
  describe(error: unknown): AgentFailure
}

export function createFailures(): Failures {
  const raised = new WeakMap<Error, AgentFailure>()
  const raise = (failure: AgentFailure, message: string): Error => {
    const error = new Error(message)
    raised.set(error, failure)
    return error
  }
  return {
    create: (code, message) => raise({ code, message }, message),
    refuse: (system, attempt) => raise({ system, attempt }, `${attempt}: ${system}`),
    describe(error) {
      if (!(error instanceof Error)) return { code: 'failed', message: String(error) }
      const failure = raised.get(error)
      if (failure !== undefined) return failure
      const [code, syscall, path, destination] = ['code', 'syscall', 'path', 'dest'].map((field): unknown =>
        Reflect.get(error, field),
      )
      // Node looks for zero bytes itself, where the system would find the argument invalid.
      if (code === 'ERR_INVALID_ARG_VALUE') return { system: 'EINVAL', attempt: 'argument' }
      if (typeof code !== 'string' || typeof syscall !== 'string') return { code: 'failed', message: error.message }
      const attempt = [syscall, path, destination].filter((part) => typeof part === 'string').join(' ')
      return { system: code, attempt }
    },
  }
}

/** The users of the machine, read from its own `/etc/passwd` on every question: a command may have changed it. */
export function createAccounts(settings: AgentSettings, failures: Failures): Accounts {
  const fs = process.getBuiltinModule('node:fs')
  const { posix } = process.getBuiltinModule('node:path')
  const rows = (file: string): string[][] =>
    fs
      .readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line.includes(':'))
      .map((line) => line.split(':'))
  const users = `${settings.root}/etc/passwd`
  const nameById = (file: string, id: number): string =>
    rows(file).find((row) => Number(row[2]) === id)?.[0] ?? String(id)
  const groups = `${settings.root}/etc/group`
  const idOf = (file: string, name: string): number => {
    const id = rows(file).find(([known]) => known === name)?.[2] ?? name
    if (!/^\d+$/.test(id)) throw failures.create('user-unknown', `nobody named ${name} in this machine`)
    return Number(id)
  }
  return {
    findOwner(owner) {
      const [user = '', group = user] = owner.split(':')
      return { uid: idOf(users, user), gid: idOf(groups, group) }
    },
    find(user) {
      const row = rows(users).find(([name]) => name === user)
      if (row === undefined) throw failures.create('user-unknown', `no user named ${user} in this machine`)
      return { name: user, uid: Number(row[2]), gid: Number(row[3]), home: settings.root + (row[5] || '/') }
    },
    userName: (uid) => nameById(users, uid),
    groupName: (gid) => nameById(groups, gid),
    mayEnter(directory, account) {
      if (settings.singleUser || account.uid === 0) return true
      for (let at = fs.realpathSync(directory); ; at = posix.dirname(at)) {
        const { uid, gid, mode } = fs.statSync(at)
        const others = gid === account.gid ? 0o010 : 0o001
        if ((mode & (uid === account.uid ? 0o100 : others)) === 0) return false
        if (at === '/') return true
      }
    },
    own(path, { uid, gid }) {
      if (!settings.singleUser) fs.lchownSync(path, uid, gid)
    },
  }
}
