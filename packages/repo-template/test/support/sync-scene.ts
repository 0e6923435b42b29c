import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { syncRepository, type SyncOptions, type SyncResult } from '@warmbox/repo-template'
import { temporaryDirectory, widgets, type Widgets } from './fixtures.ts'
import { localSandbox, type LocalSandbox } from './local-sandbox.ts'

const execute = promisify(execFile)

/** A private repository, and a sandbox on this machine that is synced to it. */
export interface SyncScene extends Widgets {
  readonly sandbox: LocalSandbox
  readonly path: string
  sync(options?: Partial<SyncOptions>): Promise<SyncResult>
}

export const syncScene = async (): Promise<SyncScene> => {
  const given = await widgets()
  const directory = await temporaryDirectory()
  const authority = join(directory, 'authority.pem')
  await writeFile(authority, given.server.certificateAuthority)
  const sandbox = await localSandbox({ GIT_SSL_CAINFO: authority, GIT_CONFIG_NOSYSTEM: '1' })
  const path = join(directory, 'widgets')
  return {
    ...given,
    sandbox,
    path,
    sync: (options = {}) =>
      syncRepository(sandbox, {
        getRepositoryAccess: () => Promise.resolve(given.access),
        certificateAuthority: given.server.certificateAuthority,
        workingDirectory: path,
        setupCommand: 'echo ran >> ../setup.log',
        ...options,
      }),
  }
}

export const git = async (path: string, ...args: string[]): Promise<string> => {
  const identity = ['-c', 'user.name=Someone', '-c', 'user.email=someone@localhost']
  return (await execute('git', ['-C', path, ...identity, ...args])).stdout.trim()
}
