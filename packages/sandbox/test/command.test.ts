import { describe, expect, test } from 'vitest'
import type { E2BSandbox } from '@warmbox/sandbox'
import { apiError, deferred, failedStream, type FakeProcess, failure, platform, sandboxOf } from './support/index.ts'

/** A sandbox on which the next command is handed to the test as soon as it starts. */
function withCommand() {
  const e2b = platform()
  const started = deferred<FakeProcess>()
  e2b.onStart = (process) => started.resolve(process)
  return { e2b, sandbox: sandboxOf(), started: started.promise }
}

describe('executeCommand', () => {
  test('answers output and exit code', async () => {
    const e2b = platform()
    e2b.onStart = (process) => process.stdout('out').stderr('err').exit(0)

    const result = await sandboxOf().executeCommand('build')

    expect(result).toMatchObject({
      success: true,
      exitCode: 0,
      stdout: 'out',
      stderr: 'err',
      timedOut: false,
      killed: false,
      endedBy: 'exit',
      command: 'build',
    })
  })

  test('answers a non-zero exit as a result', async () => {
    const e2b = platform()
    e2b.onStart = (process) => process.stderr('no such file').exit(2)

    expect(await sandboxOf().executeCommand('ls')).toMatchObject({ success: false, exitCode: 2, endedBy: 'exit' })
  })

  test('quotes arguments and leaves the command to the shell', async () => {
    const { sandbox, started } = withCommand()
    const result = sandbox.executeCommand('echo $HOME &&', [`it's`, '$(id)', '', '-n'])
    const process = await started
    process.exit(0)
    await result

    expect(process.command).toBe(`echo $HOME && 'it'\\''s' '$(id)' '' '-n'`)
  })

  test('refuses an argument no shell can hold, before any request', async () => {
    const e2b = platform()

    expect(await failure(sandboxOf().executeCommand('echo', ['a\0b']))).toMatchObject({ code: 'INVALID_OPTION' })
    expect(e2b.requests).toEqual([])
  })

  test('passes directory and environment on: its own over setEnv over the options', async () => {
    const e2b = platform()
    const started = deferred<FakeProcess>()
    e2b.onStart = (process) => {
      started.resolve(process)
      process.exit(0)
    }
    const sandbox = sandboxOf({ env: { A: 'option', B: 'option', C: 'option' }, workingDirectory: '/srv' })
    sandbox.setEnv((env) => ({ ...env, B: 'set', C: 'set' }))

    await sandbox.executeCommand('env', [], { cwd: '/tmp', env: { C: 'command', D: undefined } })

    expect(await started.promise).toMatchObject({ cwd: '/tmp', envs: { A: 'option', B: 'set', C: 'command' } })
    expect(Object.keys((await started.promise).envs)).not.toContain('D')
  })

  test('gives no stdin and, without a timeout, no limit', async () => {
    const { sandbox, started } = withCommand()
    const result = sandbox.executeCommand('cat')
    const process = await started
    process.exit(0)
    await result

    expect(process.hasStdin).toBe(false)
    expect(process.limitMs).toBeUndefined()
  })

  test('starts in the default directory, and without it where it does not exist yet', async () => {
    const e2b = platform()
    e2b.faults.push(({ path, body }) => {
      const asks = path.endsWith('/Start') && JSON.stringify(body).includes('"cwd":"/home/user/app"')
      return asks ? failedStream('invalid_argument', 'cwd does not exist') : undefined
    })
    const sandbox = sandboxOf({ workingDirectory: '/home/user/app' })

    expect(await sandbox.executeCommand('git clone')).toMatchObject({ exitCode: 0 })
    expect(await failure(sandbox.executeCommand('ls', [], { cwd: '/home/user/app' }))).toMatchObject({
      code: 'BAD_REQUEST',
    })
  })

  test('streams output in order, across UTF-8 boundaries', async () => {
    const { sandbox, started } = withCommand()
    const chunks: string[] = []
    const result = sandbox.executeCommand('print', [], { onStdout: (data) => chunks.push(data) })
    const process = await started
    const bytes = new TextEncoder().encode('grüße €🎉!')
    for (const byte of bytes) process.stdout(Uint8Array.of(byte))
    process.exit(0)

    expect((await result).stdout).toBe('grüße €🎉!')
    expect(chunks.join('')).toBe('grüße €🎉!')
    expect(chunks).not.toContain('�')
  })

  test('keeps all output unless told otherwise', async () => {
    const e2b = platform()
    const line = `${'x'.repeat(1023)}\n`
    e2b.onStart = (process) => {
      for (let i = 0; i < 2048; i += 1) process.stdout(line)
      process.exit(0)
    }
    const sandbox = sandboxOf()

    expect((await sandbox.executeCommand('yes')).stdout).toHaveLength(2 * 1024 * 1024)
    const bounded = await sandbox.executeCommand('yes', [], { maxRetainedBytes: 10 })
    expect(bounded).toMatchObject({ stdout: line.slice(-10), stdoutTruncated: true })
  })

  test('rejects with the error of a listener that throws, after the command has ended', async () => {
    const e2b = platform()
    e2b.onStart = (process) => process.stdout('one').stdout('two').exit(0)
    const seen: string[] = []

    const error = await failure(
      sandboxOf().executeCommand('print', [], {
        onStdout: (data) => {
          seen.push(data)
          throw new Error('listener broke')
        },
      }),
    )

    expect(error).toMatchObject({ message: 'listener broke' })
    expect(seen).toEqual(['one', 'two'])
  })
})

describe('an end that is not an exit', () => {
  test('timeout: the command is killed and the result says so', async () => {
    const { sandbox, started } = withCommand()
    const result = sandbox.executeCommand('sleep 100', [], { timeout: 50 })
    const process = await started
    process.stdout('begun')

    expect(await result).toMatchObject({
      success: false,
      exitCode: 124,
      timedOut: true,
      killed: true,
      endedBy: 'timeout',
      stdout: 'begun',
    })
    expect(process.killed).toBe(true)
    expect(process.limitMs).toBe(5_050)
  })

  test('timeout of a command whose children keep its output open', async () => {
    const { e2b, sandbox, started } = withCommand()
    e2b.fail('POST', /SendSignal$/, () => Response.json({}))
    const result = sandbox.executeCommand('sleep 100 | cat', [], { timeout: 50 })
    await started

    expect(await result).toMatchObject({ exitCode: 124, endedBy: 'timeout' })
  })

  test('abort: the command is killed and the result says so', async () => {
    const { sandbox, started } = withCommand()
    const abort = new AbortController()
    const result = sandbox.executeCommand('sleep 100', [], { abortSignal: abort.signal })
    const process = await started
    await expect.poll(() => process.ended).toBe(false)
    abort.abort()

    expect(await result).toMatchObject({ exitCode: 137, timedOut: false, killed: true, endedBy: 'abort' })
    expect(process.killed).toBe(true)
  })

  test('abort before the start: nothing is sent', async () => {
    const e2b = platform()

    const error = await failure(sandboxOf().executeCommand('rm', [], { abortSignal: AbortSignal.abort('no') }))

    expect(error).toMatchObject({ code: 'ABORTED', cause: 'no' })
    expect(e2b.requests.filter(({ path }) => path.endsWith('/Start'))).toEqual([])
  })

  test.each([-1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31])('refuses the timeout %s', async (timeout) => {
    platform()

    expect(await failure(sandboxOf().executeCommand('true', [], { timeout }))).toMatchObject({ code: 'INVALID_OPTION' })
  })
})

const signalled = (process: FakeProcess): void => process.signalled()
const exited = (process: FakeProcess): void => process.exit(137)

describe.each([
  ['a command', (sandbox: E2BSandbox) => sandbox.executeCommand('eat')],
  ['a background process', async (sandbox: E2BSandbox) => (await sandbox.processes.spawn('eat')).wait()],
])('%s that nobody ended from here', (_, run) => {
  /** Seconds since the sandbox booted. */
  const UPTIME = 500
  const record = (pid: number, { seconds = UPTIME, level = 3, text = 'Out of memory' } = {}): string =>
    `${level},812,${seconds}000000,-;${text}: Killed process ${pid} (node) total-vm:4096kB, anon-rss:2048kB`
  const bySignal = { endedBy: 'signal', exitCode: -1 }
  const byExit = { endedBy: 'exit', exitCode: 137, killed: false }
  const byOom = { endedBy: 'oom', exitCode: 137, killed: true, timedOut: false, success: false }

  test.each([
    ['killed, and the kernel names it', signalled, (pid: number) => record(pid), byOom],
    [
      'killed by the limit of a group',
      signalled,
      (pid: number) => record(pid, { text: 'Memory cgroup out of memory' }),
      byOom,
    ],
    ['killed, and the kernel names another', signalled, (pid: number) => record(pid + 1), bySignal],
    ['killed, and the kernel is silent', signalled, () => '', bySignal],
    ['killed, long after the kernel named it', signalled, (pid: number) => record(pid, { seconds: 200 }), bySignal],
    ['killed, and somebody else wrote the record', signalled, (pid: number) => record(pid, { level: 11 }), bySignal],
    ['a shell, whose child the kernel names', exited, (pid: number) => record(pid + 1), byOom],
    ['a shell, long after a kill', exited, (pid: number) => record(pid + 1, { seconds: 200 }), byExit],
    ['a shell, of a child killed otherwise', exited, () => '', byExit],
    [
      'a shell that prints what the kernel would write',
      (process: FakeProcess) => exited(process.stderr(record(process.pid))),
      () => '',
      byExit,
    ],
  ])('%s', async (_case, end, log, expected) => {
    const e2b = platform()
    e2b.onStart = (process) => {
      e2b.kernelLog = `${UPTIME}.25\n${log(process.pid)}\n`
      end(process)
    }

    expect(await run(sandboxOf())).toMatchObject(expected)
  })

  test('ends as it does where the log cannot be read', async () => {
    const e2b = platform()
    e2b.onStart = signalled
    e2b.faults.push(({ body }) => (JSON.stringify(body)?.includes('/dev/kmsg') ? apiError(500, 'no') : undefined))

    expect(await run(sandboxOf())).toMatchObject(bySignal)
  })

  test.each([0, 1, 124, 139])('is not asked about where it exits with %i', async (exitCode) => {
    const e2b = platform()
    e2b.onStart = (process) => process.exit(exitCode)

    expect(await run(sandboxOf())).toMatchObject({ endedBy: 'exit', exitCode })
    expect(JSON.stringify(e2b.requests)).not.toContain('kmsg')
  })
})
