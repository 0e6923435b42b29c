import { execFile } from 'node:child_process'
import { inspect, promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createEmulator, probeNamespaces } from '@warmbox/e2b-emulator'
import type { ResolutionEvent } from '@warmbox/resolution'
import { refreshRepoTemplate } from '@warmbox/repo-template'
import { needles, recordGit, widgets } from './support/fixtures.ts'

const execute = promisify(execFile)
const namespaces = await probeNamespaces()
const reason = namespaces.available ? '' : ` (skipped: ${namespaces.reason})`

const secret = 'npm-secret-value'
const secrets: readonly string[] = [...needles, secret, Buffer.from(secret).toString('base64')]

/** Names of files below a directory in which a secret stands. */
const filesWithSecrets = async (directory: string): Promise<string> => {
  const patterns = secrets.flatMap((value) => ['-e', value])
  try {
    const found = await execute('grep', ['-rlaFs', '--devices=skip', ...patterns, directory])
    return found.stdout
  } catch (error) {
    // 1: nothing found. 2: something could not be read, such as a dangling link; what was found is in the output.
    const { stdout, code }: { stdout?: string; code?: number } = Object(error)
    if (code !== 1 && code !== 2) throw error
    return stdout ?? ''
  }
}

describe.skipIf(!namespaces.available)(`a build of a private repository, on real processes${reason}`, () => {
  test('leaves its secrets in no file, argument, event or result', { timeout: 120_000 }, async () => {
    const given = await widgets()
    const emulator = createEmulator({
      runtime: 'real',
      certificateAuthorities: [given.server.certificateAuthority],
    })
    onTestFinished(() => emulator.close())
    const { connection } = await emulator.listen()
    const git = await recordGit()
    const events: ResolutionEvent[] = []
    const result = await refreshRepoTemplate(
      {
        getRepositoryAccess: () => Promise.resolve(given.access),
        certificateAuthority: given.server.certificateAuthority,
        headTimeoutMs: 60_000,
        buildEnv: { NPM_TOKEN: secret },
        setupCommand: [
          'test "$NPM_TOKEN" = npm-secret-value',
          'test -z "${WARMBOX_GIT_CREDENTIAL-}"',
          'echo "$NPM_TOKEN"',
        ],
      },
      { ...connection, onEvent: (event) => events.push(event) },
    )
    expect(result).toMatchObject({ action: 'built', sha: given.sha })
    const image = await emulator.control.filesystemOf(result.ref)
    onTestFinished(() => image.release())
    const { stdout: head } = await execute('git', [
      '-c',
      'safe.directory=*',
      '-C',
      `${image.directory}/home/user/widgets`,
      'rev-parse',
      'HEAD',
    ])
    expect(head.trim()).toBe(given.sha)
    expect(await filesWithSecrets(`${image.directory}/home`)).toBe('')
    expect(await filesWithSecrets(`${image.directory}/etc`)).toBe('')
    expect(await filesWithSecrets(`${image.directory}/tmp`)).toBe('')
    expect(await filesWithSecrets(`${image.directory}/root`)).toBe('')
    const told = `${JSON.stringify([events, result])} ${inspect(events, { depth: 10 })} ${(await git.calls()).join('\n')}`
    expect(secrets.filter((value) => told.includes(value))).toEqual([])
  })
})
