import type { MessageInitShape } from '@bufbuild/protobuf'
import { AuthenticationError, CommandExitError, InvalidArgumentError, TimeoutError } from 'e2b'
import { describe, expect, test } from 'vitest'
import { createManualClock } from '../../src/clock.ts'
import { Signal, type StreamInputRequestSchema } from '../../src/envd/generated/process/process_pb.ts'
import { eventually } from './support/eventually.ts'
import { startEnvd } from './support/harness.ts'
import { PlayedProcess } from './support/process.ts'

type StreamInput = MessageInitShape<typeof StreamInputRequestSchema>

const chunk = (text: string): StreamInput => ({
  event: { case: 'data', value: { input: { input: { case: 'stdin', value: new TextEncoder().encode(text) } } } },
})

const follow = <T>(stream: AsyncIterable<T>) => stream[Symbol.asyncIterator]()

describe('commands of the SDK', () => {
  test('run returns both streams and the exit code', async () => {
    const { sandbox } = await startEnvd({
      commands: [{ match: 'greet', answer: { stdout: 'grüße\n', stderr: 'careful\n' } }],
    })
    await expect(sandbox.commands.run('greet')).resolves.toMatchObject({
      stdout: 'grüße\n',
      stderr: 'careful\n',
      exitCode: 0,
    })
  })

  test('a command that fails rejects with its exit code and status [D14]', async () => {
    const { sandbox } = await startEnvd({ commands: [{ match: 'fail', answer: { stderr: 'no\n', exitCode: 3 } }] })
    const failure = sandbox.commands.run('fail')
    await expect(failure).rejects.toBeInstanceOf(CommandExitError)
    await expect(failure).rejects.toMatchObject({ exitCode: 3, stderr: 'no\n', error: 'exit status 3' })
  })

  test('a background command is listed while it runs, and killing it reports the signal [D14] [D18]', async () => {
    const { sandbox } = await startEnvd()
    const command = await sandbox.commands.run('sleep infinity', { background: true, envs: { A: '1' } })
    expect(await sandbox.commands.list()).toMatchObject([
      { pid: command.pid, cmd: '/bin/bash', args: ['-l', '-c', 'sleep infinity'], envs: { A: '1' } },
    ])
    expect(await command.kill()).toBe(true)
    await expect(command.wait()).rejects.toMatchObject({ exitCode: -1, error: 'signal: killed' })
    expect(await sandbox.commands.list()).toEqual([])
    expect(await command.kill()).toBe(false)
  })

  test('input reaches the command until it is closed [D17]', async () => {
    const { sandbox } = await startEnvd()
    const command = await sandbox.commands.run('cat', { background: true, stdin: true })
    await command.sendStdin('one ')
    await command.sendStdin('two')
    await command.closeStdin()
    await expect(command.wait()).resolves.toMatchObject({ stdout: 'one two' })
  })

  test('input to a command without stdin is refused [D17]', async () => {
    const process = new PlayedProcess()
    const { sandbox } = await startEnvd({ processes: { quiet: () => process } })
    const command = await sandbox.commands.run('quiet', { background: true })
    await expect(command.sendStdin('hello')).rejects.toThrow('[failed_precondition] stdin not enabled or closed')
    expect(process.input).toEqual([])
  })

  test('output that was held back when the command ended still comes before its end [D21]', async () => {
    const process = new PlayedProcess()
    const { processes } = await startEnvd({ processes: { hasty: () => process } })
    const stream = follow(processes().start({ process: { cmd: '/bin/bash', args: ['-c', 'hasty'] } }))
    await stream.next()
    process.end()
    const told = (async () => {
      for (const letter of ['a', 'b', 'c']) await process.say(letter.repeat(200_000))
    })()
    const events: string[] = []
    for await (const { event } of { [Symbol.asyncIterator]: () => stream }) events.push(String(event?.event.case))
    await told
    expect(events).toEqual(['data', 'data', 'data', 'end'])
  })

  test('connecting to a running command gives its output from then on, never what came before [D16]', async () => {
    const process = new PlayedProcess()
    const { sandbox } = await startEnvd({ processes: { talk: () => process } })
    const first = await sandbox.commands.run('talk', { background: true })
    await process.say('before ')
    await eventually(() => expect(first.stdout).toBe('before '))
    const second = await sandbox.commands.connect(first.pid)
    await process.say('after')
    process.end()
    await expect(second.wait()).resolves.toMatchObject({ stdout: 'after' })
    await expect(first.wait()).resolves.toMatchObject({ stdout: 'before after' })
  })

  test('a client that disconnects leaves the command running [D15]', async () => {
    const process = new PlayedProcess()
    const { sandbox } = await startEnvd({ processes: { talk: () => process } })
    const command = await sandbox.commands.run('talk', { background: true })
    await command.disconnect()
    await eventually(async () => {
      await process.say('unheard ')
      expect(await sandbox.commands.list()).toHaveLength(1)
    })
    const again = await sandbox.commands.connect(command.pid)
    await process.say('heard')
    process.end()
    await expect(again.wait()).resolves.toMatchObject({ stdout: expect.stringMatching(/heard$/) })
    expect(process.signals).toEqual([])
  })

  test('a command that takes longer than its timeout is killed [D15]', async () => {
    const process = new PlayedProcess()
    const { sandbox } = await startEnvd({ processes: { slow: () => process } })
    const command = await sandbox.commands.run('slow', { background: true, timeoutMs: 1500 })
    await expect(command.wait()).rejects.toBeInstanceOf(TimeoutError)
    await eventually(() => expect(process.signals).toEqual(['SIGKILL']))
  })

  test('a timeout of zero is none [D15]', async () => {
    const { sandbox } = await startEnvd()
    await expect(sandbox.commands.run('echo done', { timeoutMs: 0 })).resolves.toMatchObject({ stdout: 'done\n' })
  })

  test('a working directory that does not exist is an invalid argument [D13]', async () => {
    const { sandbox } = await startEnvd()
    const run = sandbox.commands.run('pwd', { cwd: '/nowhere' })
    await expect(run).rejects.toBeInstanceOf(InvalidArgumentError)
    await expect(run).rejects.toThrow("cwd '/nowhere' does not exist")
  })

  test('a user that does not exist cannot authenticate, whatever is asked [D3]', async () => {
    const { sandbox, fetch } = await startEnvd()
    await expect(sandbox.commands.run('pwd', { user: 'nobody-here' })).rejects.toBeInstanceOf(AuthenticationError)
    const authorization = `Basic ${Buffer.from('nobody-here:').toString('base64')}`
    const list = await fetch('/process.Process/List', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization },
      body: '{}',
    })
    expect(list.status).toBe(401)
    expect(await list.json()).toEqual({ code: 'unauthenticated', message: "invalid username: 'nobody-here'" })
  })

  test('a command that cannot be started says why', async () => {
    const { sandbox } = await startEnvd()
    await expect(sandbox.commands.run('make coffee')).rejects.toThrow(/\[unimplemented\].*make coffee/)
  })

  test('the default user runs commands in the working directory of the sandbox, another user too [D12]', async () => {
    const { sandbox, machine } = await startEnvd({ defaultWorkdir: '/tmp' })
    await expect(sandbox.commands.run('pwd')).resolves.toMatchObject({ stdout: '/tmp\n' })
    await expect(sandbox.commands.run('whoami', { user: 'root' })).resolves.toMatchObject({ stdout: 'root\n' })
    expect(machine.spawned.map(({ user, cwd }) => [user, cwd])).toEqual([
      ['user', '/tmp'],
      ['root', '/tmp'],
    ])
  })

  test('without a working directory commands run in the home of their user, and relative paths start there [D12]', async () => {
    const { sandbox } = await startEnvd()
    await sandbox.files.makeDir('/home/user/project')
    await expect(sandbox.commands.run('pwd')).resolves.toMatchObject({ stdout: '/home/user\n' })
    await expect(sandbox.commands.run('pwd', { user: 'root' })).resolves.toMatchObject({ stdout: '/root\n' })
    await expect(sandbox.commands.run('pwd', { cwd: 'project' })).resolves.toMatchObject({
      stdout: '/home/user/project\n',
    })
    await expect(sandbox.commands.run('pwd', { cwd: '~/project' })).resolves.toMatchObject({
      stdout: '/home/user/project\n',
    })
  })

  test('the environment is the platform, then the sandbox, then the call [D22]', async () => {
    const { sandbox, machine } = await startEnvd({
      templateId: 'template-1',
      envs: { FROM: 'create', BOTH: 'create', E2B_TEMPLATE_ID: 'mine' },
    })
    await sandbox.commands.run('true', { envs: { BOTH: 'call', CALL: 'yes' } })
    expect(machine.spawned[0]?.env).toEqual({
      E2B_SANDBOX: 'true',
      E2B_SANDBOX_ID: 'sandbox-1',
      E2B_TEMPLATE_ID: 'mine',
      FROM: 'create',
      BOTH: 'call',
      CALL: 'yes',
    })
  })

  test('killing the sandbox breaks off what runs, and the SDK learns that the sandbox is gone [D24]', async () => {
    const { sandbox, kill } = await startEnvd()
    const command = await sandbox.commands.run('sleep infinity', { background: true })
    kill()
    await expect(command.wait()).rejects.toBeInstanceOf(TimeoutError)
    await expect(sandbox.isRunning()).resolves.toBe(false)
  })

  test('two hundred commands at once each get their own answer', async () => {
    const { sandbox } = await startEnvd()
    const numbers = Array.from({ length: 200 }, (_, index) => index)
    const results = await Promise.all(numbers.map((number) => sandbox.commands.run(`echo ${number}`)))
    expect(results.map(({ stdout }) => stdout)).toEqual(numbers.map((number) => `${number}\n`))
  })
})

describe('terminals', () => {
  test('a terminal takes input, is resized and tells its output [D23]', async () => {
    const process = new PlayedProcess()
    const { sandbox, machine } = await startEnvd({ processes: { '-l': () => process } })
    const output: string[] = []
    const terminal = await sandbox.pty.create({
      cols: 90,
      rows: 30,
      onData: (data) => void output.push(new TextDecoder().decode(data)),
    })
    expect(machine.spawned[0]).toMatchObject({ pty: { cols: 90, rows: 30 }, stdin: false })
    await sandbox.pty.sendInput(terminal.pid, new TextEncoder().encode('ls\r'))
    await sandbox.pty.resize(terminal.pid, { cols: 120, rows: 40 })
    await process.say('$ ', 'pty')
    process.end()
    await terminal.wait()
    expect(process.input).toEqual(['ls\r'])
    expect(process.sizes).toEqual([{ cols: 120, rows: 40 }])
    expect(output.join('')).toBe('$ ')
  })

  test('a process without a terminal cannot be resized [D23]', async () => {
    const { sandbox } = await startEnvd({ processes: { plain: () => new PlayedProcess() } })
    const command = await sandbox.commands.run('plain', { background: true })
    await expect(sandbox.pty.resize(command.pid, { cols: 1, rows: 1 })).rejects.toThrow('the process has no terminal')
  })
})

describe('the wire contract beyond the SDK', () => {
  test.each(['json', 'binary'] as const)('a process is started and found by its tag, in %s [D19]', async (format) => {
    const process = new PlayedProcess(4711)
    const { processes } = await startEnvd({ processes: { tagged: () => process } })
    const client = processes(format)
    const stream = follow(client.start({ process: { cmd: '/bin/bash', args: ['-c', 'tagged'] }, tag: 'build' }))
    expect((await stream.next()).value?.event?.event).toMatchObject({ case: 'start', value: { pid: 4711 } })
    expect((await client.list({})).processes).toMatchObject([{ pid: 4711, tag: 'build' }])
    await client.sendInput({
      process: { selector: { case: 'tag', value: 'build' } },
      input: { input: { case: 'stdin', value: new TextEncoder().encode('go') } },
    })
    expect(process.input).toEqual(['go'])
    process.end(2)
    expect((await stream.next()).value?.event?.event).toMatchObject({
      case: 'end',
      value: { exitCode: 2, exited: true, status: 'exit status 2', error: 'exit status 2' },
    })
    expect((await stream.next()).done).toBe(true)
  })

  test('input can be streamed', async () => {
    const process = new PlayedProcess()
    const { processes } = await startEnvd({ processes: { reader: () => process } })
    const client = processes()
    const stream = follow(client.start({ process: { cmd: '/bin/bash', args: ['-c', 'reader'] } }))
    await stream.next()
    const selector = { selector: { case: 'pid', value: process.pid } } as const
    async function* input(): AsyncGenerator<StreamInput> {
      yield { event: { case: 'start', value: { process: selector } } }
      yield chunk('a')
      yield { event: { case: 'keepalive', value: {} } }
      yield chunk('b')
    }
    await client.streamInput(input())
    expect(process.input).toEqual(['a', 'b'])
    process.end()
  })

  test('a quiet stream says that it is alive, at the interval the client asked for [D20]', async () => {
    const clock = createManualClock()
    const process = new PlayedProcess()
    const { processes } = await startEnvd({ processes: { quiet: () => process }, clock })
    const stream = follow(
      processes().start(
        { process: { cmd: '/bin/bash', args: ['-c', 'quiet'] } },
        { headers: { 'Keepalive-Ping-Interval': '7' } },
      ),
    )
    await stream.next()
    const next = stream.next()
    await eventually(async () => {
      clock.advance(7000)
      expect(await Promise.race([next, Promise.resolve('nothing yet')])).toMatchObject({
        value: { event: { event: { case: 'keepalive' } } },
      })
    })
    process.end()
    await eventually(async () => expect((await stream.next()).value?.event?.event.case).toBe('end'))
  })

  test('the timeout of a command counts on the clock of the emulator, also after its client left', async () => {
    const clock = createManualClock()
    const process = new PlayedProcess()
    const { processes } = await startEnvd({ processes: { slow: () => process }, clock })
    const left = new AbortController()
    const stream = follow(
      processes().start(
        { process: { cmd: '/bin/bash', args: ['-c', 'slow'] } },
        { timeoutMs: 600_000, signal: left.signal },
      ),
    )
    await stream.next()
    left.abort()
    clock.advance(599_999)
    expect(process.signals).toEqual([])
    clock.advance(1)
    expect(process.signals).toEqual(['SIGKILL'])
  })

  test('a command that ended in time is not killed later', async () => {
    const clock = createManualClock()
    const process = new PlayedProcess()
    const { processes } = await startEnvd({ processes: { quick: () => process }, clock })
    const start = { process: { cmd: '/bin/bash', args: ['-c', 'quick'] } }
    const stream = follow(processes().start(start, { timeoutMs: 600_000 }))
    await stream.next()
    process.end()
    expect((await stream.next()).value?.event?.event.case).toBe('end')
    clock.advance(600_000)
    expect(process.signals).toEqual([])
  })

  test('a signal other than kill and terminate is not known [D18]', async () => {
    const process = new PlayedProcess()
    const { processes } = await startEnvd({ processes: { it: () => process } })
    const client = processes()
    const stream = follow(client.start({ process: { cmd: '/bin/bash', args: ['-c', 'it'] } }))
    await stream.next()
    const selector = { selector: { case: 'pid', value: process.pid } } as const
    await expect(client.sendSignal({ process: selector, signal: Signal.UNSPECIFIED })).rejects.toThrow(
      '[unimplemented] invalid signal: 0',
    )
    await client.sendSignal({ process: selector, signal: Signal.SIGTERM })
    expect(process.signals).toEqual(['SIGTERM'])
  })
})
