import { E2BProcessHandle } from '@warmbox/sandbox'
import { describe, expect, test } from 'vitest'
import { deferred, FakeProcess, failure, platform, sandboxOf } from './support/index.ts'

function withProcess() {
  const e2b = platform()
  const started = deferred<FakeProcess>()
  e2b.onStart = (process) => started.resolve(process)
  return { e2b, sandbox: sandboxOf(), started: started.promise }
}

/** A process whose stream broke, not as a daemon ends it, but as the network does. */
async function withCutStream(options: Parameters<ReturnType<typeof sandboxOf>['processes']['spawn']>[1] = {}) {
  const { e2b, sandbox, started } = withProcess()
  const handle = await sandbox.processes.spawn('npm run dev', options)
  const process = await started
  process.breakStream('unknown')
  const error = await failure(handle.wait())
  return { e2b, sandbox, handle, process, error }
}

describe('a spawned process', () => {
  test('runs without limit, keeps stdin and is listed until it ends', async () => {
    const { sandbox, started } = withProcess()

    const handle = await sandbox.processes.spawn('npm run dev')
    const process = await started

    expect(handle).toBeInstanceOf(E2BProcessHandle)
    expect(handle).toMatchObject({ pid: String(process.pid), exitCode: undefined, command: 'npm run dev' })
    expect(process).toMatchObject({ hasStdin: true, limitMs: undefined })
    expect(await sandbox.processes.list()).toEqual([{ pid: handle.pid, command: 'npm run dev', running: true }])

    process.exit(3)
    expect(await handle.wait()).toMatchObject({ exitCode: 3, endedBy: 'exit' })
    expect(await sandbox.processes.list()).toEqual([
      { pid: handle.pid, command: 'npm run dev', running: false, exitCode: 3 },
    ])
  })

  test('takes input and its end', async () => {
    const { sandbox, started } = withProcess()
    const handle = await sandbox.processes.spawn('cat')
    const process = await started

    await handle.sendStdin('one\n')
    await handle.sendStdin('zwölf\n')
    await handle.closeStdin()

    expect(process.input).toEqual(['one\n', 'zwölf\n'])
    expect(process.inputClosed).toBe(true)
    process.exit(0)
  })

  test('with stdinMode ignore takes none', async () => {
    const { sandbox, started } = withProcess()
    const handle = await sandbox.processes.spawn('cat', { stdinMode: 'ignore' })
    const process = await started

    expect(process.hasStdin).toBe(false)
    expect(await failure(handle.sendStdin('x'))).toMatchObject({ code: 'STDIN_CLOSED' })
    expect(await failure(handle.closeStdin())).toMatchObject({ code: 'STDIN_CLOSED' })
    process.exit(0)
  })

  test('that has ended takes no input', async () => {
    const { sandbox, started } = withProcess()
    const handle = await sandbox.processes.spawn('cat')
    ;(await started).exit(0)
    await handle.wait()

    expect(await failure(handle.sendStdin('x'))).toMatchObject({ code: 'PROCESS_ENDED' })
    expect(await handle.kill()).toBe(false)
  })

  test('takes none after its end was sent', async () => {
    const { sandbox, started } = withProcess()
    const handle = await sandbox.processes.spawn('cat')
    await handle.closeStdin()

    expect(await failure(handle.sendStdin('x'))).toMatchObject({ code: 'STDIN_CLOSED' })
    ;(await started).exit(0)
  })

  test('of a template too old to close stdin says so in the way streams understand', async () => {
    const { e2b, sandbox, started } = withProcess()
    e2b.envdVersion = '0.5.1'
    const handle = await sandbox.processes.spawn('cat')

    expect(await failure(handle.closeStdin())).toMatchObject({ name: 'UnsupportedStdinCloseError' })
    ;(await started).exit(0)
  })

  test('is killed by the manager', async () => {
    const { sandbox, started } = withProcess()
    const handle = await sandbox.processes.spawn('npm run dev')

    expect(await sandbox.processes.kill(handle.pid)).toBe(true)

    expect((await started).killed).toBe(true)
    expect(await handle.wait()).toMatchObject({ exitCode: 137, killed: true, endedBy: 'kill' })
    expect(await sandbox.processes.get(handle.pid)).toBeUndefined()
  })

  test.each([
    ['at once', (kill: () => Promise<boolean>) => Promise.all([kill(), kill()]), [true, true]],
    ['in turn', async (kill: () => Promise<boolean>) => [await kill(), await kill()], [true, false]],
  ])('killed twice %s was killed', async (_, killTwice, answers) => {
    const { e2b, sandbox, started } = withProcess()
    const handle = await sandbox.processes.spawn('npm run dev')
    let signals = 0
    e2b.fail(
      'POST',
      /SendSignal$/,
      () => {
        signals += 1
        return signals === 1
          ? Response.json({})
          : Response.json({ code: 'not_found', message: 'ended' }, { status: 404 })
      },
      2,
    )

    expect(await killTwice(() => handle.kill())).toEqual(answers)
    ;(await started).signalled()

    expect(await handle.wait()).toMatchObject({ exitCode: 137, killed: true, endedBy: 'kill' })
  })

  test('is killed although its children keep its output open', async () => {
    const { e2b, sandbox } = withProcess()
    const handle = await sandbox.processes.spawn('sleep 100 | cat')
    e2b.fail('POST', /SendSignal$/, () => Response.json({}))

    expect(await handle.kill()).toBe(true)

    expect(await handle.wait()).toMatchObject({ exitCode: 137, endedBy: 'kill' })
  })

  test('is killed by its abort signal', async () => {
    const { sandbox, started } = withProcess()
    const abort = new AbortController()
    const handle = await sandbox.processes.spawn('npm run dev', { abortSignal: abort.signal })
    await started
    abort.abort()

    expect(await handle.wait()).toMatchObject({ endedBy: 'abort' })
  })

  test('pipes through the reader and writer of the handle', async () => {
    const { sandbox, started } = withProcess()
    const handle = await sandbox.processes.spawn('server --stdio')
    const process = await started
    const read: string[] = []
    handle.reader.on('data', (chunk: Buffer) => read.push(chunk.toString()))

    handle.writer.end('request')
    await expect.poll(() => process.inputClosed).toBe(true)
    process.stdout('answer').exit(0)
    await handle.wait()

    expect(process.input).toEqual(['request'])
    await expect.poll(() => read.join('')).toBe('answer')
  })
})

describe('a process whose stream was cut', () => {
  test('is no failure of the platform, and no reason to run it again', async () => {
    const { error, handle } = await withCutStream()

    expect(error).toMatchObject({ code: 'CONNECTION_LOST', hint: expect.stringContaining(`get('${handle.pid}')`) })
    expect(error).toMatchObject({ hint: expect.not.stringMatching(/retry/i) })
  })

  test('is followed again by a new handle', async () => {
    const { sandbox, handle, process } = await withCutStream()

    const again = await sandbox.processes.get(handle.pid)
    process.stdout('late').exit(4)

    expect(again).not.toBe(handle)
    expect(await again?.wait()).toMatchObject({ exitCode: 4, stdout: 'late' })
  })

  test('is found again where a command was waited for', async () => {
    const { sandbox, started } = withProcess()
    const result = failure(sandbox.executeCommand('deploy'))
    const process = await started
    process.breakStream('unknown')
    expect(await result).toMatchObject({ code: 'CONNECTION_LOST' })

    expect(await (await sandbox.processes.get(String(process.pid)))?.kill()).toBe(true)
    expect(process.killed).toBe(true)
  })

  test('is ended by its abort signal all the same', async () => {
    const abort = new AbortController()
    const { process } = await withCutStream({ abortSignal: abort.signal })

    abort.abort()

    await expect.poll(() => process.killed).toBe(true)
  })

  test('is ended by its timeout all the same', async () => {
    const { process } = await withCutStream({ timeout: 300 })
    expect(process.killed).toBe(false)

    await expect.poll(() => process.killed, { timeout: 10_000 }).toBe(true)
  })

  test('is not ended by its handle where another one has its id by now', async () => {
    const { e2b, handle, process } = await withCutStream()
    process.exit(0)
    const { pid, cwd, hasStdin, limitMs } = process
    const other = new FakeProcess({ pid, cwd, hasStdin, limitMs, command: 'another', envs: {} })
    e2b.only.processes.set(pid, other)

    expect(await handle.kill()).toBe(false)

    expect(other.killed).toBe(false)
  })
})

describe('a process started elsewhere', () => {
  test('is listed, followed and killed by its id', async () => {
    const { sandbox, started, e2b } = withProcess()
    const other = sandboxOf()
    await other.start()
    const elsewhere = sandboxOf({ sandboxId: e2b.only.id })
    await elsewhere.processes.spawn('tail -f log')
    const process = await started
    const fresh = sandboxOf({ sandboxId: e2b.only.id })

    const [listed] = await fresh.processes.list()
    expect(listed).toEqual({ pid: String(process.pid), command: 'tail -f log', running: true })
    const handle = await fresh.processes.get(String(process.pid))
    process.stdout('line')
    await expect.poll(() => handle?.stdout).toBe('line')
    expect(await handle?.kill()).toBe(true)
    expect(await handle?.wait()).toMatchObject({ endedBy: 'kill' })
    expect(sandbox.status).toBe('pending')
  })

  test.each(['4242', 'not-a-pid', '-1', ''])('that does not exist (%j) has no handle', async (pid) => {
    const { sandbox } = withProcess()

    expect(await sandbox.processes.get(pid)).toBeUndefined()
    expect(await sandbox.processes.kill(pid)).toBe(false)
  })
})

test('process ids of a lost sandbox mean nothing in its successor', async () => {
  const { e2b, sandbox } = withProcess()
  const handle = await sandbox.processes.spawn('npm run dev')
  e2b.sandboxes.clear()
  await sandbox.processes.list()

  expect(await sandbox.processes.get(handle.pid)).toBeUndefined()
})
