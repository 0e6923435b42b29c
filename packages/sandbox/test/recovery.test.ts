import { describe, expect, test } from 'vitest'
import {
  apiError,
  deferred,
  eventTypes,
  type FakeProcess,
  failure,
  platform,
  recorder,
  sandboxOf,
} from './support/index.ts'

describe('a sandbox that died between commands', () => {
  test('is replaced and the command that found it so runs once, in the new one', async () => {
    const e2b = platform()
    const commands: string[] = []
    e2b.onStart = (process, sandbox) => {
      commands.push(`${sandbox.id} ${process.command}`)
      process.exit(0)
    }
    const { events, onEvent } = recorder()
    const sandbox = sandboxOf({ id: 'session-1', onEvent })
    await sandbox.start()
    const lost = e2b.only.id
    e2b.sandboxes.clear()

    expect(await sandbox.executeCommand('work')).toMatchObject({ exitCode: 0 })

    expect(commands).toEqual([`${e2b.only.id} work`])
    expect(e2b.only.id).not.toBe(lost)
    expect(events).toContainEqual({ type: 'sandbox-lost', sandboxId: lost, reason: 'gone' })
  })

  test('by its timeout is resumed, not replaced', async () => {
    const e2b = platform()
    const { events, onEvent } = recorder()
    const sandbox = sandboxOf({ onEvent })
    await sandbox.start()
    e2b.only.state = 'paused'

    expect(await sandbox.executeCommand('work')).toMatchObject({ exitCode: 0 })

    expect(e2b.only.state).toBe('running')
    expect(eventTypes(events)).toContain('sandbox-lost')
    expect(e2b.paths('POST').filter((path) => path === '/v2/sandboxes')).toHaveLength(1)
  })

  test('is replaced once for all commands that find it so', async () => {
    const e2b = platform()
    const sandbox = sandboxOf()
    await sandbox.start()
    e2b.sandboxes.clear()

    const results = await Promise.all(['a', 'b', 'c'].map((command) => sandbox.executeCommand(command)))

    expect(results.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0])
    expect(e2b.sandboxes.size).toBe(1)
  })

  test('is replaced once per command at most', async () => {
    const e2b = platform()
    const sandbox = sandboxOf()
    await sandbox.start()
    e2b.faults.push(({ path }) => {
      if (!path.endsWith('/Start')) return undefined
      e2b.sandboxes.clear()
      return Response.json({ message: 'The sandbox was not found', code: 502 }, { status: 502 })
    })

    expect(await failure(sandbox.executeCommand('work'))).toMatchObject({ code: 'SANDBOX_GONE' })
    expect(e2b.paths('POST').filter((path) => path === '/v2/sandboxes')).toHaveLength(2)
  })

  test('serves what may be repeated as well: lists, handles, files', async () => {
    const e2b = platform()
    const sandbox = sandboxOf()
    await sandbox.start()

    e2b.sandboxes.clear()
    expect(await sandbox.processes.list()).toEqual([])
    e2b.sandboxes.clear()
    expect(await sandbox.processes.get('4242')).toBeUndefined()
    e2b.sandboxes.clear()
    await sandbox.writeFiles([{ path: '/tmp/a', content: 'a' }])

    expect([...e2b.only.files.keys()]).toEqual(['/tmp/a'])
  })
})

describe('no recovery', () => {
  test('of a function that may have done its work, unless it is said to be repeatable', async () => {
    const e2b = platform()
    const sandbox = sandboxOf()
    await sandbox.start()
    e2b.sandboxes.clear()
    const list = () => sandbox.e2b.commands.list()

    expect(await failure(sandbox.retryOnDead(list))).toMatchObject({ code: 'SANDBOX_GONE' })
    expect(await sandbox.retryOnDead(list, { repeatable: true })).toEqual([])
  })

  test('where a command had begun: it is not run twice', async () => {
    const e2b = platform()
    const started = deferred<FakeProcess>()
    e2b.onStart = (process) => started.resolve(process)
    const sandbox = sandboxOf()
    const result = failure(sandbox.executeCommand('deploy'))
    const process = await started.promise
    process.stdout('half')
    e2b.sandboxes.clear()
    process.breakStream('unavailable')

    expect(await result).toMatchObject({ code: 'SANDBOX_GONE', hint: expect.stringContaining('Start again') })
    expect(e2b.sandboxes.size).toBe(0)
  })

  test('where a command prints what the platform says of dead sandboxes', async () => {
    const e2b = platform()
    e2b.onStart = (process) =>
      process
        .stdout('The sandbox was not found')
        .stderr('SandboxNotFoundError: Sandbox is probably not running anymore 404')
        .exit(1)
    const { events, onEvent } = recorder()
    const sandbox = sandboxOf({ onEvent })

    expect(await sandbox.executeCommand('work')).toMatchObject({ exitCode: 1 })

    expect(eventTypes(events)).not.toContain('sandbox-lost')
    expect(e2b.paths('POST').filter((path) => path.endsWith('/Start'))).toHaveLength(1)
  })

  test('where the sandbox runs and was only too busy', async () => {
    const e2b = platform()
    const sandbox = sandboxOf()
    await sandbox.start()
    e2b.fail('POST', /\/Start$/, () => Response.json({ code: 'unavailable', message: 'slow down' }, { status: 503 }))

    expect(await failure(sandbox.executeCommand('work'))).toMatchObject({ code: 'SANDBOX_UNREACHABLE' })
    expect(e2b.sandboxes.size).toBe(1)
  })

  test('where E2B does not say that it is dead', async () => {
    const e2b = platform()
    const sandbox = sandboxOf()
    await sandbox.start()
    const { id } = e2b.only
    e2b.only.state = 'paused'
    e2b.fail('GET', new RegExp(`^/sandboxes/${id}$`), () => apiError(500, 'unknown'))

    expect(await failure(sandbox.executeCommand('work'))).toMatchObject({ code: 'SANDBOX_UNREACHABLE' })
    expect(e2b.only.state).toBe('paused')
  })

  test('where a broken stream leaves the sandbox alive: the process may still run', async () => {
    const e2b = platform()
    const started = deferred<FakeProcess>()
    e2b.onStart = (process) => started.resolve(process)
    const sandbox = sandboxOf()
    const result = failure(sandbox.executeCommand('deploy'))
    const process = await started.promise
    process.breakStream('unavailable')

    expect(await result).toMatchObject({ code: 'CONNECTION_LOST' })
  })
})
