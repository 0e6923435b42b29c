import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Sandbox, SandboxNotFoundError } from 'e2b'
import { expect, onTestFinished, test } from 'vitest'
import type { Machine } from '../../src/runtime/port.ts'
import { createRealRuntime } from '../../src/runtime/real/index.ts'
import { startBuild, startCommandLine, type CommandLine } from '../support/command-line.ts'
import { startEmulator } from '../support/emulator.ts'
import {
  busy,
  busyProcesses,
  hostProcesses,
  processesOf,
  threadStates,
  userNamespaceOf,
} from '../support/host-processes.ts'
import { expectReachable, listenOnHost } from '../support/machine-ports.ts'
import { describeReal, eventually, killAllInside, output, run, textOf, useRuntime } from './support.ts'

const hostProgram = fileURLToPath(new URL('fixtures/host.ts', import.meta.url))
let markers = 0
/** A duration nobody else sleeps for, to find a process by on the host. */
const marker = () => `${100_000 + process.pid}.${markers++}`

/** As `/proc` has it: `R` running, `S` sleeping, `T` stopped. */
const stateOf = async (machine: Machine, pid: number) =>
  (await textOf(await machine.files.read(`/proc/${pid}/stat`))).replace(/^.*\) /, '').charAt(0)

describeReal('the life of a machine', () => {
  const bench = useRuntime()

  test('nothing runs while paused; everything goes on after', async () => {
    const machine = await bench().machine()
    const ticker = await machine.spawn({
      command: 'bash',
      args: ['-c', 'while echo tick; do sleep 0.01; done'],
      user: 'user',
      env: {},
      stdin: false,
    })
    let ticks = 0
    ticker.onOutput(() => void ticks++)
    await expect.poll(() => ticks).toBeGreaterThan(2)
    await machine.pause()
    const paused = ticks
    expect(await stateOf(machine, ticker.pid)).toBe('T')
    expect(ticks).toBe(paused)
    await machine.resume()
    await expect.poll(() => ticks).toBeGreaterThan(paused)
    await machine.pause()
    await machine.pause()
    await machine.resume()
    const again = ticks
    await expect.poll(() => ticks).toBeGreaterThan(again)
    await ticker.signal('SIGKILL')
    await ticker.exit
  })

  test('a pause that is over means that everything stands still, on a busy host too', async () => {
    const machine = await bench().machine()
    const mark = marker()
    await output(machine, busy(mark))
    await expect.poll(() => hostProcesses(mark).length).toBe(busyProcesses)
    await Promise.all([machine.pause(), machine.pause()])
    expect(hostProcesses(mark).flatMap(threadStates)).toEqual(Array.from({ length: busyProcesses }, () => 'T'))
    await machine.destroy()
    expect(hostProcesses(mark)).toEqual([])
  })

  test('a parent that waits in the kernel for the child of its vfork holds up no pause', async () => {
    const machine = await bench().machine()
    const seconds = marker()
    // System call 58 is vfork on x64, and 220 is clone with what vfork asks for on arm64.
    const vfork = process.arch === 'arm64' ? 'syscall(220, 0x4111, 0, 0, 0, 0)' : 'syscall(58)'
    await output(machine, `perl -e 'if (${vfork} == 0) { select(undef, undef, undef, ${seconds}) }' >/dev/null 2>&1 &`)
    const found = () => hostProcesses(seconds).flatMap(threadStates).toSorted()
    await expect.poll(found).toEqual(['D', 'S'])
    await machine.pause()
    expect(found()).toEqual(['D', 'T'])
    await machine.resume()
    await expect.poll(found).toEqual(['D', 'S'])
    await machine.destroy()
    expect(hostProcesses(seconds)).toEqual([])
  })

  test('a process that a command had stopped itself stays stopped over pause and resume', async () => {
    const machine = await bench().machine()
    const process = await machine.spawn({
      command: 'bash',
      args: ['-c', 'kill -STOP $$; echo continued'],
      user: 'user',
      env: {},
      stdin: false,
    })
    let told = ''
    process.onOutput(({ data }) => {
      told += new TextDecoder().decode(data)
    })
    await expect.poll(() => stateOf(machine, process.pid)).toBe('T')
    await machine.pause()
    await machine.resume()
    expect(await stateOf(machine, process.pid)).toBe('T')
    expect(told).toBe('')
    await output(machine, `kill -CONT ${process.pid}`)
    await process.exit
    expect(told).toBe('continued\n')
  })

  test('a paused machine can be copied, killed in part and destroyed', async () => {
    const machine = await bench().machine()
    await output(machine, 'echo paused >file')
    const sleeper = await machine.spawn({ command: 'sleep', args: ['1000'], user: 'user', env: {}, stdin: false })
    await machine.pause()
    expect(await output(await bench().machine(await machine.snapshot()), 'cat file')).toBe('paused')
    await sleeper.signal('SIGKILL')
    await machine.destroy()
    expect((await sleeper.exit).status).toBe('signal: killed')
  })

  test('what is started while paused runs after', async () => {
    const machine = await bench().machine()
    await machine.pause()
    const started = run(machine, 'echo started')
    expect(await Promise.race([started, machine.files.homeOf('user')])).toBe('/home/user')
    await machine.resume()
    expect((await started).stdout).toBe('started\n')
  })

  test('a snapshot that ends during a pause does not end the pause', async () => {
    const machine = await bench().machine()
    const sleeper = await machine.spawn({ command: 'sleep', args: ['1000'], user: 'user', env: {}, stdin: false })
    await Promise.all([machine.snapshot(), machine.pause()])
    expect(await stateOf(machine, sleeper.pid)).toBe('T')
    await machine.resume()
    await expect.poll(() => stateOf(machine, sleeper.pid)).toBe('S')
  })

  test('destroying ends every process, detached ones too, and refuses what comes after', async () => {
    const machine = await bench().machine()
    const seconds = marker()
    await output(machine, `setsid nohup sleep ${seconds} >/dev/null 2>&1 &`)
    const running = await machine.spawn({ command: 'sleep', args: [seconds], user: 'user', env: {}, stdin: false })
    await expect.poll(() => hostProcesses(seconds).length).toBe(2)
    await machine.destroy()
    expect(hostProcesses(seconds)).toEqual([])
    expect(await running.exit).toEqual({ exitCode: -1, exited: false, status: 'signal: killed' })
    await expect(run(machine, 'true')).rejects.toMatchObject({ code: 'gone' })
    await expect(machine.files.stat('/')).rejects.toMatchObject({ code: 'gone' })
    await expect(machine.connect(1)).rejects.toMatchObject({ code: 'gone' })
    await machine.destroy()
  })

  test('root inside can end its own machine, and that harms no other', async () => {
    const [victim, other] = await Promise.all([bench().machine(), bench().machine()])
    const running = await victim.spawn({ command: 'sleep', args: ['1000'], user: 'user', env: {}, stdin: false })
    await killAllInside(victim)
    expect(await running.exit).toMatchObject({ exitCode: -1 })
    await victim.ended
    await expect(run(victim, 'true')).rejects.toMatchObject({ code: 'gone' })
    expect(await output(other, 'echo fine')).toBe('fine')
    await victim.destroy()
  })

  test('no name that commands give to their programs is that of the one that keeps the machine', async () => {
    const machine = await bench().shared()
    const names = await output(machine, 'cat /proc/[0-9]*/comm', { user: 'root' })
    expect(new Set(names.split('\n'))).toEqual(new Set(['bash', 'cat', 'warmbox-machine']))
  })

  test('a port inside is reached, and one where nothing listens is refused', async () => {
    const machine = await bench().machine()
    const free = await listenOnHost()
    await free.close()
    await expect(machine.connect(free.port)).rejects.toMatchObject({ code: 'port-closed' })
    await expectReachable(machine, free.port)
  })

  test('an image that is not there is refused', async () => {
    await expect(bench().machine('image-of-nobody')).rejects.toMatchObject({ code: 'not-found' })
  })
})

describeReal('a sandbox whose machine was ended from inside', () => {
  test('is gone, with its files, and so is what it counted for [L43]', async () => {
    const dataDirectory = mkdtempSync(join(tmpdir(), 'warmbox-real-'))
    onTestFinished(() => rmSync(dataDirectory, { recursive: true, force: true }))
    const { connection, emulator } = await startEmulator({ runtime: 'real', dataDirectory })
    const sandbox = await Sandbox.create('base', connection)
    const content = `content ${marker()}`
    await sandbox.files.write('note', content)
    const holders = () => spawnSync('grep', ['-rl', content, dataDirectory], { encoding: 'utf8' }).stdout
    await Promise.allSettled([sandbox.commands.run('kill -9 -1', { user: 'root' })])
    await expect.poll(() => emulator.control.sandboxes()).toEqual([])
    expect(await sandbox.isRunning()).toBe(false)
    await expect(sandbox.getInfo()).rejects.toBeInstanceOf(SandboxNotFoundError)
    await expect(sandbox.commands.run('true')).rejects.toBeInstanceOf(SandboxNotFoundError)
    await eventually(holders, '')
    const other = await Sandbox.create('base', connection)
    expect((await other.commands.run('echo fine')).stdout).toBe('fine\n')
  })
})

describeReal('the end of a runtime', () => {
  test('close ends machines that still run and leaves no process and no directory', async () => {
    const dataDirectory = mkdtempSync(join(tmpdir(), 'warmbox-real-'))
    try {
      const runtime = await createRealRuntime({ dataDirectory, certificateAuthorities: [] })
      const image = await runtime.baseImage('base')
      const machine = await runtime.createMachine(image, { id: 'm', hostname: 'm' })
      const seconds = marker()
      const sleeper = await machine.spawn({ command: 'sleep', args: [seconds], user: 'root', env: {}, stdin: false })
      const [pid = 0] = hostProcesses(seconds)
      const namespace = userNamespaceOf(pid)
      const late = runtime.createMachine(image, { id: 'late', hostname: 'late' })
      await Promise.all([runtime.close(), runtime.close()])
      await late
      expect(await sleeper.exit).toMatchObject({ status: 'signal: killed' })
      expect(processesOf(namespace)).toEqual([])
      expect(readdirSync(dataDirectory)).toEqual([])
      await expect(runtime.createMachine(image, { id: 'x', hostname: 'x' })).rejects.toMatchObject({ code: 'gone' })
    } finally {
      rmSync(dataDirectory, { recursive: true, force: true })
    }
  })

  test.each(['running', 'paused', 'spare'])(
    'SIGKILL of the process that holds a %s machine leaves no process, mount or directory behind',
    async (state) => {
      const dataDirectory = mkdtempSync(join(tmpdir(), 'warmbox-real-'))
      const seconds = marker()
      const host = spawn(process.execPath, [hostProgram, dataDirectory, seconds, state], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      try {
        await once(host.stdout, 'data')
        const [pid = 0] = hostProcesses(seconds).filter((id) => id !== host.pid)
        const namespace = userNamespaceOf(pid)
        expect(processesOf(namespace).length).toBeGreaterThanOrEqual(3)
        host.kill('SIGKILL')
        await once(host, 'exit')
        await eventually(() => processesOf(namespace), [])
        await eventually(() => hostProcesses(dataDirectory), [])
        await eventually(() => readdirSync(dataDirectory), [])
        // With the last process of a mount namespace go its mounts; in the host's there was none.
        expect(readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain(dataDirectory)
      } finally {
        host.kill('SIGKILL')
        rmSync(dataDirectory, { recursive: true, force: true })
      }
    },
    180_000,
  )

  test.each<[string, (line: CommandLine, seconds: string) => Promise<void>]>([
    ['at its first trace', ({ temporary }) => eventually(() => readdirSync(temporary).length > 0, true, 1)],
    ['before the first machine', async ({ connection }) => void (await connection())],
    [
      'in the middle of a build',
      async ({ connection }, seconds) => {
        await startBuild(await connection(), `sleep ${seconds}`)
        await eventually(() => hostProcesses(seconds).length > 0, true)
      },
    ],
  ])('SIGKILL of the command line %s leaves its temporary directory empty', async (_moment, reach) => {
    const line = await startCommandLine('--runtime', 'real')
    const seconds = marker()
    await reach(line, seconds)
    line.child.kill('SIGKILL')
    await line.ended
    await line.expectNothingLeft()
    await eventually(() => hostProcesses(line.temporary), [])
    expect(hostProcesses(seconds)).toEqual([])
  })

  test('an idle runtime does not keep its process alive, and cleans up when it ends', async () => {
    const dataDirectory = mkdtempSync(join(tmpdir(), 'warmbox-real-'))
    try {
      const host = spawn(process.execPath, [hostProgram, dataDirectory, marker(), 'idle'], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const [code] = await once(host, 'exit')
      expect(code).toBe(0)
      await eventually(() => hostProcesses(dataDirectory), [])
      await eventually(() => readdirSync(dataDirectory), [])
    } finally {
      rmSync(dataDirectory, { recursive: true, force: true })
    }
  })
})
