import { describe, expect, test } from 'vitest'
import {
  apiError,
  deferred,
  eventTypes,
  type FakeProcess,
  failure,
  notThere,
  platform,
  recorder,
  sandboxOf,
  startedCommand,
} from './support/index.ts'

/** A paused sandbox, and a command whose start is answered, in the negative, when the test says so. */
async function withLateCommand() {
  const e2b = platform()
  const commands: string[] = []
  e2b.onStart = (process) => {
    commands.push(process.command)
    process.exit(0)
  }
  const sandbox = sandboxOf()
  await sandbox.start()
  e2b.only.state = 'paused'
  const answer = deferred()
  let isAnswered = false
  e2b.faults.push(async (request) => {
    if (isAnswered || startedCommand(request) !== 'late') return undefined
    await answer.promise
    isAnswered = true
    return notThere()
  })
  return { e2b, sandbox, commands, late: sandbox.executeCommand('late'), answer: () => answer.resolve() }
}

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

  test.each(['paused', 'gone'] as const)(
    '%s, is started once for whatever meets it, each of which runs once',
    async (how) => {
      const e2b = platform()
      const commands: string[] = []
      e2b.onStart = (process) => {
        commands.push(process.command)
        process.exit(0)
      }
      const sandbox = sandboxOf({ id: 'session-1' })
      await sandbox.start()
      if (how === 'paused') e2b.only.state = 'paused'
      else e2b.sandboxes.clear()
      e2b.requests.length = 0

      const names = Array.from({ length: 10 }, (_, index) => `work ${index}`)
      const files = ['/tmp/a', '/tmp/b']
      await Promise.all([
        ...names.map((name) => sandbox.executeCommand(name)),
        ...files.map((path) => sandbox.writeFiles([{ path, content: path }])),
        sandbox.processes.list(),
      ])

      expect(commands.toSorted()).toEqual(names)
      expect([...e2b.only.files.keys()].toSorted()).toEqual(files)
      expect(e2b.paths('POST').filter((path) => path.startsWith('/v2/sandboxes'))).toHaveLength(1)
    },
  )

  describe('and is resumed for another command', () => {
    test('that had come and gone before it was told', async () => {
      const { e2b, sandbox, commands, late, answer } = await withLateCommand()

      await sandbox.executeCommand('first')
      answer()

      expect(await late).toMatchObject({ exitCode: 0 })
      expect(commands).toEqual(['first', 'late'])
      expect(e2b.only.connects).toHaveLength(1)
    })

    test('whose start is under way', async () => {
      const { e2b, sandbox, commands, late, answer } = await withLateCommand()
      const resuming = deferred()
      const resume = deferred()
      e2b.faults.push(async ({ path }) => {
        if (!path.endsWith('/connect')) return undefined
        resuming.resolve()
        await resume.promise
        return undefined
      })

      const first = sandbox.executeCommand('first')
      await resuming.promise
      answer()
      const latest = sandbox.executeCommand('latest')
      resume.resolve()

      expect(await Promise.all([first, late, latest])).toMatchObject([
        { exitCode: 0 },
        { exitCode: 0 },
        { exitCode: 0 },
      ])
      expect(commands.toSorted()).toEqual(['first', 'late', 'latest'])
      expect(e2b.only.connects).toHaveLength(1)
    })

    test('while E2B is asked about it', async () => {
      const { e2b, sandbox, commands, late, answer } = await withLateCommand()
      const asking = deferred()
      const told = deferred()
      let asked = 0
      e2b.faults.push(async ({ method, path }) => {
        if (method !== 'GET' || !/^\/sandboxes\/[^/]+$/.test(path)) return undefined
        asked += 1
        if (asked > 1) return undefined
        asking.resolve()
        await told.promise
        return undefined
      })

      answer()
      await asking.promise
      await sandbox.executeCommand('first')
      told.resolve()

      expect(await late).toMatchObject({ exitCode: 0 })
      expect(commands).toEqual(['first', 'late'])
      expect(e2b.only.connects).toHaveLength(1)
    })
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

  test('where it had begun within a function that may else be repeated', async () => {
    const e2b = platform()
    const sandbox = sandboxOf()
    await sandbox.start()
    let runs = 0
    e2b.onStart = (process) => {
      runs += 1
      e2b.sandboxes.clear()
      process.breakStream('unavailable')
    }

    const result = sandbox.retryOnDead(() => sandbox.executeCommand('deploy'))

    expect(await failure(result)).toMatchObject({ code: 'SANDBOX_GONE' })
    expect(runs).toBe(1)
  })

  test.each([
    ['an error', new RangeError('mine')],
    ['what the engine throws', new TypeError('x is not a function')],
    ["an error by the name of one of the SDK's", Object.assign(new Error('mine'), { name: 'TimeoutError' })],
    ['what is no error', 'mine'],
  ])('of what the function itself throws, which comes through as it is: %s', async (_, thrown) => {
    const e2b = platform()
    const sandbox = sandboxOf()
    await sandbox.start()
    e2b.requests.length = 0

    expect(await failure(sandbox.retryOnDead(() => Promise.reject(thrown), { repeatable: true }))).toBe(thrown)
    expect(e2b.requests).toEqual([])
  })

  test('of the exit of a command that the function runs', async () => {
    const e2b = platform()
    e2b.onStart = (process) => process.exit(3)
    const sandbox = sandboxOf()

    const run = sandbox.retryOnDead(() => sandbox.e2b.commands.run('work'))

    expect(await failure(run)).toMatchObject({ name: 'CommandExitError', exitCode: 3 })
  })

  test('where no connection is made at all', async () => {
    const e2b = platform()
    const sandbox = sandboxOf()
    await sandbox.start()
    e2b.faults.push(({ path }) => (/\/Start$|^\/health$/.test(path) ? Response.error() : undefined))

    expect(await failure(sandbox.executeCommand('work'))).toMatchObject({ code: 'NETWORK' })
    expect(e2b.sandboxes.size).toBe(1)
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
