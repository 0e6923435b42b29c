import { execFile } from 'node:child_process'
import { inspect, promisify } from 'node:util'
import type { TemplateBuilder } from 'e2b'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createEmulator, probeNamespaces } from '@warmbox/e2b-emulator'
import type { ResolutionEvent } from '@warmbox/resolution'
import { refreshRepoTemplate, type RefreshConnection, type RepoTemplateOptions } from '@warmbox/repo-template'
import { needles, recordGit, type Widgets, widgets } from './support/fixtures.ts'

/** Set where minutes count more than the last test; `pnpm test` alone runs all. */
const isShort = process.env['WARMBOX_SHORT_TESTS'] === '1'

const execute = promisify(execFile)
const namespaces = await probeNamespaces()
const reason = namespaces.available ? '' : ` (skipped: ${namespaces.reason})`

const secret = 'npm-secret-value'
const secrets: readonly string[] = [...needles, secret, Buffer.from(secret).toString('base64')]
const found = (text: string): readonly string[] => secrets.filter((value) => text.includes(value))

/** Names of files below a directory in which a secret stands. */
const filesWithSecrets = async (directory: string): Promise<string> => {
  const patterns = secrets.flatMap((value) => ['-e', value])
  try {
    const { stdout } = await execute('grep', ['-rlaFs', '--devices=skip', ...patterns, directory])
    return stdout
  } catch (error) {
    // 1: nothing found. 2: something could not be read, such as a dangling link; what was found is in the output.
    const { stdout, code }: { stdout?: string; code?: number } = Object(error)
    if (code !== 1 && code !== 2) throw error
    return stdout ?? ''
  }
}

const recordedArguments = '/var/arguments'

/**
 * A git in front of the image's own that writes down its arguments and those of every other process, which by then
 * are the steps around it and what they started. The file is part of the image, so it is searched with it.
 */
const recording = (builder: TemplateBuilder): TemplateBuilder =>
  builder.runCmd(
    [
      '# recorder',
      'set -eu',
      `install -m 666 /dev/null ${recordedArguments}`,
      'mkdir -p /usr/local/bin',
      `cat > /usr/local/bin/git <<'END'`,
      '#!/bin/bash',
      `{ printf '%s ' git "$@"; echo; cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' '; echo; } >> ${recordedArguments}`,
      'exec /usr/bin/git "$@"',
      'END',
      'chmod 755 /usr/local/bin/git',
    ].join('\n'),
    { user: 'root' },
  )

const world = async () => {
  const given = await widgets()
  const emulator = createEmulator({ runtime: 'real', certificateAuthorities: [given.server.certificateAuthority] })
  // Builds that were given up go on at the platform until their step ends.
  onTestFinished(() => emulator.close(), 180_000)
  const { connection } = await emulator.listen()
  const git = await recordGit()
  const events: ResolutionEvent[] = []
  /** Resolves with the outcome, an error included. */
  const refresh = async (options: Partial<RepoTemplateOptions> = {}, more: RefreshConnection = {}): Promise<unknown> =>
    refreshRepoTemplate(optionsOf(given, options), {
      ...connection,
      ...more,
      onEvent: (event) => {
        events.push(event)
        return more.onEvent?.(event)
      },
    }).catch((error: unknown) => error)
  /** Everything that was told to anybody: outcomes, events, arguments of this machine's git. */
  const told = async (...outcomes: readonly unknown[]): Promise<string> =>
    [
      JSON.stringify([events, outcomes]),
      inspect([events, outcomes], { depth: 20, showHidden: true }),
      ...(await git.calls()),
    ].join('\n')
  return { given, emulator, refresh, told, events }
}

const optionsOf = (given: Widgets, options: Partial<RepoTemplateOptions>): RepoTemplateOptions => ({
  getRepositoryAccess: () => Promise.resolve(given.access),
  certificateAuthority: given.server.certificateAuthority,
  headTimeoutMs: 60_000,
  base: recording,
  buildEnv: { NPM_TOKEN: secret },
  setupCommand: [
    `test "$NPM_TOKEN" = ${secret.slice(0, 10)}"${secret.slice(10)}"`,
    'test -z "${WARMBOX_GIT_CREDENTIAL-}"',
    'git log -1 >/dev/null; echo "$NPM_TOKEN"',
  ],
  ...options,
})

describe.skipIf(!namespaces.available)(`secrets of a build on real processes${reason}`, () => {
  test.each(['clone', 'upload'] as const)(
    'are in no file, argument, event or result of a build and a refresh: %s',
    { timeout: 300_000 },
    async (source) => {
      const { given, emulator, refresh, told } = await world()
      const first = await refresh({ source })
      expect(first).toMatchObject({ action: 'built', sha: given.sha })
      const moved = await given.repository.commit({ 'README.md': 'moved\n' })
      const second = await refresh({ source })
      expect(second).toMatchObject({ action: 'built', sha: moved })
      const { ref }: { ref: string } = Object(second)
      const image = await emulator.control.filesystemOf(ref)
      onTestFinished(() => image.release())
      const { stdout: head } = await execute('git', [
        '-c',
        'safe.directory=*',
        '-C',
        `${image.directory}/home/user/widgets`,
        'rev-parse',
        'HEAD',
      ])
      expect(head.trim()).toBe(moved)
      const { stdout: seen } = await execute('cat', [`${image.directory}${recordedArguments}`])
      expect(seen).toContain('rev-parse --verify HEAD')
      expect(seen).toContain('warmbox_step=record')
      // The whole of it, not only where a leak is likely.
      expect(await filesWithSecrets(image.directory)).toBe('')
      expect(found(await told(first, second))).toEqual([])
      // The platform prints ENV steps. What it is not given it cannot print.
      const logs = JSON.stringify(emulator.control.builds().map((build) => build.logs))
      expect(needles.some((needle) => logs.includes(needle))).toBe(source === 'clone')
    },
  )

  test.skipIf(isShort)(
    'are in nothing that is told of one that fails or is given up',
    { timeout: 300_000 },
    async () => {
      const { given, refresh, told, events } = await world()
      const setupFailed = await refresh({ setupCommand: 'set -x; echo "$NPM_TOKEN"; env; exit 3' })
      expect(setupFailed).toMatchObject({ code: 'BUILD_STEP_FAILED' })
      const outOfTime = await refresh({ setupCommand: 'echo "$NPM_TOKEN"; sleep 60' }, { buildTimeoutMs: 20_000 })
      expect(outOfTime).toMatchObject({ code: 'BUILD_TIMEOUT' })
      const controller = new AbortController()
      const aborted = await refresh(
        { setupCommand: 'echo "$NPM_TOKEN" now; sleep 60' },
        {
          signal: controller.signal,
          onEvent: (event) => {
            if (event.type === 'build-log' && event.line.includes('*** now')) controller.abort(new Error('closing'))
          },
        },
      )
      expect(aborted).toMatchObject({ message: 'closing' })
      // Another commit: the platform would take the clone of the first one from its layer cache.
      const sha = await given.repository.commit({ 'README.md': 'further\n' })
      given.server.setToken('another')
      const cloneFailed = await refresh({ sha })
      expect(cloneFailed).toMatchObject({ code: 'BUILD_STEP_FAILED' })
      expect(events.filter(({ type }) => type === 'build-log').length).toBeGreaterThan(10)
      expect(found(await told(setupFailed, outOfTime, aborted, cloneFailed))).toEqual([])
    },
  )
})
