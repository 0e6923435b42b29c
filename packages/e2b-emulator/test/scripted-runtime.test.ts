import { CommandExitError, Sandbox, Template, TimeoutError, type CommandHandle } from 'e2b'
import { describe, expect, test } from 'vitest'
import { createManualClock, createScriptedRuntime, EmulatorError, type ScriptedCommand } from '@warmbox/e2b-emulator'
import { eventually, startEmulator } from './support/emulator.ts'

function catching(work: () => unknown): unknown {
  try {
    return work()
  } catch (error) {
    return error
  }
}

describe('the scripted runtime', () => {
  test('answers a command from its row: output, errors and exit code', async () => {
    const { connection } = await startEmulator({
      commands: [{ match: 'git push', answer: { stdout: 'pushing\n', stderr: 'rejected\n', exitCode: 1 } }],
    })
    const sandbox = await Sandbox.create('base', connection)
    const failure = await sandbox.commands.run('git push').catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(CommandExitError)
    expect(failure).toMatchObject({ stdout: 'pushing\n', stderr: 'rejected\n', exitCode: 1 })
  })

  test('takes the first row that matches, by text or by pattern', async () => {
    const { connection } = await startEmulator({
      commands: [
        { match: 'npm test', answer: { stdout: 'exact' } },
        { match: /^npm /, answer: ({ text }) => ({ stdout: `pattern: ${text}` }) },
      ],
    })
    const sandbox = await Sandbox.create('base', connection)
    expect((await sandbox.commands.run('npm test')).stdout).toBe('exact')
    expect((await sandbox.commands.run('npm run build')).stdout).toBe('pattern: npm run build')
  })

  test('refuses a command without a row, and says which row is missing', async () => {
    const { connection } = await startEmulator()
    const sandbox = await Sandbox.create('base', connection)
    await expect(sandbox.commands.run('make all')).rejects.toThrow(
      'no row of the scripted runtime matches this command: make all',
    )
  })

  test('lets a build step without a row succeed', async () => {
    const { connection } = await startEmulator()
    await Template.build(Template().fromImage('node:24').runCmd('make all'), 'name', connection)
    expect(await Template.exists('name:default', connection)).toBe(true)
  })

  test('gives a row the files, user, directory and environment of the machine', async () => {
    const { connection } = await startEmulator({
      commands: [
        {
          match: 'generate',
          answer: async ({ files, cwd, user, env }) => {
            await files.write(`${cwd}/out`, new Blob([`${user} ${env['MODE']} ${env['HOME']}`]).stream(), user)
            return {}
          },
        },
      ],
    })
    const sandbox = await Sandbox.create('base', connection)
    await sandbox.commands.run('generate', { cwd: '/tmp', envs: { MODE: 'fast' } })
    expect(await sandbox.files.read('/tmp/out')).toBe('user fast /home/user')
  })

  test('keeps sandboxes of one template apart', async () => {
    const { connection } = await startEmulator()
    const one = await Sandbox.create('base', connection)
    const two = await Sandbox.create('base', connection)
    await one.files.write('/home/user/note', 'one')
    expect(await two.files.exists('/home/user/note')).toBe(false)
  })

  test('feeds stdin to a row until it is closed', async () => {
    const { connection } = await startEmulator()
    const sandbox = await Sandbox.create('base', connection)
    const cat = await sandbox.commands.run('cat', { background: true, stdin: true })
    await sandbox.commands.sendStdin(cat.pid, 'typed\n')
    await sandbox.commands.closeStdin(cat.pid)
    expect((await cat.wait()).stdout).toBe('typed\n')
  })

  test('ends a row that waits when it is killed', async () => {
    const { connection } = await startEmulator()
    const sandbox = await Sandbox.create('base', connection)
    const sleeping: CommandHandle = await sandbox.commands.run('sleep infinity', { background: true })
    expect(await sandbox.commands.kill(sleeping.pid)).toBe(true)
    await expect(sleeping.wait()).rejects.toMatchObject({ exitCode: -1 })
  })

  test('sleeps as long as it says: a command that is given less time runs out of it', async () => {
    const { connection } = await startEmulator()
    const sandbox = await Sandbox.create('base', connection)
    await expect(sandbox.commands.run('sleep 30', { timeoutMs: 200 })).rejects.toBeInstanceOf(TimeoutError)
    await expect(sandbox.commands.run('sleep 0.01')).resolves.toMatchObject({ exitCode: 0 })
  })

  test('sleeps by the clock of the emulator', async () => {
    const { connection, emulator } = await startEmulator({ clock: createManualClock() })
    const sandbox = await Sandbox.create('base', connection)
    const sleeping = await sandbox.commands.run('sleep 2', { background: true })
    await emulator.control.advance(1_999)
    expect((await sandbox.commands.list()).map(({ pid }) => pid)).toEqual([sleeping.pid])
    await emulator.control.advance(1)
    await expect(sleeping.wait()).resolves.toMatchObject({ exitCode: 0 })
  })

  test('sleeps in build steps too, and gives rows the clock', async () => {
    const waits: ScriptedCommand = {
      match: 'install',
      answer: ({ clock }) => new Promise((resolve) => clock.schedule(() => resolve({}), 5_000)),
    }
    const { connection, emulator } = await startEmulator({ commands: [waits], clock: createManualClock() })
    const template = Template().fromImage('node:24').runCmd('sleep 30').runCmd('install')
    const { buildId } = await Template.buildInBackground(template, 'name', connection)
    const found = () => emulator.control.builds().find((build) => build.buildId === buildId)
    const logged = (text: string) =>
      eventually(() => found()?.logs.some(({ message }) => message.includes(text)) || undefined)
    await logged('RUN sleep 30')
    // The step begins to sleep at some moment after that; time that passes before it does not count.
    await eventually(async () => {
      await emulator.control.advance(30_000)
      return found()?.logs.some(({ message }) => message.includes('RUN install')) || undefined
    })
    expect(found()?.status).toBe('building')
    await eventually(async () => {
      await emulator.control.advance(5_000)
      return found()?.status === 'ready' || undefined
    })
  })

  test.each([
    ['commands', { commands: {} }, 'commands must be a list of rows'],
    ['a row', { commands: ['ls'] }, 'commands[0] is no row: a row is an object'],
    [
      'a field',
      { commands: [{ match: 'a', answer: {}, times: 1 }] },
      'commands[0] is no row: a row has no field "times"',
    ],
    [
      'a match',
      {
        commands: [
          { match: 'a', answer: {} },
          { match: 7, answer: {} },
        ],
      },
      'commands[1] is no row: match is',
    ],
    ['no match', { commands: [{ answer: {} }] }, 'match is a string or a pattern'],
    ['no answer', { commands: [{ match: 'a' }] }, 'the answer is an object with stdout, stderr and exitCode'],
    ['an answer', { commands: [{ match: 'a', answer: 'done' }] }, 'the answer is an object'],
    ['a field of an answer', { commands: [{ match: 'a', answer: { out: '' } }] }, 'the answer has no field "out"'],
    [
      'an exit code',
      { commands: [{ match: 'a', answer: { exitCode: '1' } }] },
      'has an exitCode that is a whole number',
    ],
    ['an exit code out of range', { commands: [{ match: 'a', answer: { exitCode: 256 } }] }, 'from 0 to 255'],
    ['stdout', { commands: [{ match: 'a', answer: { stdout: Buffer.from('') } }] }, 'has a stdout that is a string'],
    ['stderr', { commands: [{ match: 'a', answer: { stderr: null } }] }, 'has a stderr that is a string'],
    ['a port', { ports: [{ port: '80', answer: () => new Response() }] }, 'ports[0] is no row: port is a whole number'],
    ['a port without a service', { ports: [{ port: 80 }] }, 'one of answer and accept is a function'],
    [
      'two services',
      { ports: [{ port: 80, answer: String, accept: String }] },
      'one of answer and accept is a function',
    ],
    ['a field of a port', { ports: [{ port: 80, answer: String, host: '' }] }, 'a row has no field "host"'],
    [
      'two rows for one port',
      {
        ports: [
          { port: 80, answer: String },
          { port: 81, answer: String },
          { port: 80, accept: String },
        ],
      },
      'ports[2] is no row: port 80 has a row already',
    ],
    [
      "the daemon's port",
      { ports: [{ port: 49_983, answer: String }] },
      'ports[0] is no row: port 49983 is the daemon',
    ],
    ['an option', { command: [] }, 'there is no option "command" of a scripted runtime'],
    ['build steps', { unscriptedBuildSteps: 'fail' }, "unscriptedBuildSteps must be 'succeed' or 'refuse'"],
    ['a time', { now: new Date() }, 'now must be a function'],
  ])('refuses a table that cannot be meant, and names the row: %s', (_what, options, message) => {
    const create: (options: object) => unknown = createScriptedRuntime
    const refused = catching(() => create(options))
    expect(refused).toBeInstanceOf(EmulatorError)
    expect(refused).toMatchObject({ code: 'INVALID_OPTION', message: expect.stringContaining(message) })
  })

  test('ends a command whose row fails, or answers wrongly, in words that name the row', async () => {
    const wrong: ScriptedCommand = { match: 'wrong', answer: () => JSON.parse('{"exitCode":"1"}') }
    const failing: ScriptedCommand = {
      match: /^fail/,
      answer: () => {
        throw new TypeError('not today')
      },
    }
    const { connection } = await startEmulator({ commands: [wrong, failing] })
    const sandbox = await Sandbox.create('base', connection)
    await expect(sandbox.commands.run('wrong')).rejects.toMatchObject({
      exitCode: 1,
      stderr:
        'scripted runtime: the row that matches "wrong" gave a wrong answer: ' +
        'a right one has an exitCode that is a whole number from 0 to 255\n',
    })
    await expect(sandbox.commands.run('fail now')).rejects.toMatchObject({
      exitCode: 1,
      stderr: 'scripted runtime: the row that matches /^fail/ failed: TypeError: not today\n',
    })
  })

  test('holds output and exit back while a machine is frozen', async () => {
    const runtime = createScriptedRuntime({ commands: [{ match: 'talk', answer: { stdout: 'said' } }] })
    const machine = await runtime.createMachine(await runtime.baseImage('any'), { id: 'one', hostname: 'one' })
    await machine.pause()
    const talking = await machine.spawn({ command: 'talk', args: [], user: 'user', env: {}, stdin: false })
    const seen: string[] = []
    talking.onOutput(({ data }) => void seen.push(new TextDecoder().decode(data)))
    const first = await Promise.race([
      talking.exit,
      new Promise((resolve) => setImmediate(() => resolve('still frozen'))),
    ])
    expect([first, seen]).toEqual(['still frozen', []])
    await machine.resume()
    expect(await talking.exit).toEqual({ exitCode: 0, exited: true, status: 'exit status 0' })
    expect(seen).toEqual(['said'])
    await runtime.close()
  })
})
