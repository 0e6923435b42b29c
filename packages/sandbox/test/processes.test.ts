import { E2BProcessHandle } from '@warmbox/sandbox'
import { describe, expect, test } from 'vitest'
import { deferred, type FakeProcess, failure, platform, sandboxOf } from './support/index.ts'

function withProcess() {
  const e2b = platform()
  const started = deferred<FakeProcess>()
  e2b.onStart = (process) => started.resolve(process)
  return { e2b, sandbox: sandboxOf(), started: started.promise }
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
