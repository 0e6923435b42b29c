import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Machine, Runtime } from '../../src/runtime/port.ts'
import { createUnsafeHostRuntime } from '../../src/runtime/unsafe-host/index.ts'
import { startBuild, startCommandLine } from '../support/command-line.ts'
import { busy, busyProcesses, hostProcesses, sleepers, threadStates } from '../support/host-processes.ts'
import { expectReachable, listenOnHost } from '../support/machine-ports.ts'
import { eventually, isRoot, output, run, streamOf, textOf } from '../real-runtime/support.ts'

const hostProgram = fileURLToPath(new URL('fixtures/host.ts', import.meta.url))
let markers = 0
/** A duration nobody else sleeps for, to find a process by on the host. */
const marker = () => `${200_000 + process.pid}.${markers++}`

const stateOf = (pid: number) => threadStates(pid).join('')

describe.skipIf(isRoot)(
  'machines that nothing confines (skipped for root, who is refused)',
  { timeout: 180_000 },
  () => {
    let dataDirectory: string
    let runtime: Runtime
    let count = 0
    const machine = async (image?: string): Promise<Machine> =>
      runtime.createMachine(image ?? (await runtime.baseImage('base')), { id: `m${count++}`, hostname: 'box' })

    beforeAll(() => {
      dataDirectory = mkdtempSync(join(tmpdir(), 'warmbox-unsafe-'))
      runtime = createUnsafeHostRuntime({ dataDirectory, certificateAuthorities: [] })
    })

    afterAll(async () => {
      try {
        await runtime.close()
        // oxlint-disable-next-line vitest/no-standalone-expect -- the proof of all tests
        expect(readdirSync(dataDirectory)).toEqual([])
      } finally {
        rmSync(dataDirectory, { recursive: true, force: true })
      }
    }, 180_000)

    test('a private directory holds them; a home, a temporary directory and Node are the machine’s', async () => {
      const box = await machine()
      const [own = ''] = readdirSync(dataDirectory)
      expect(statSync(join(dataDirectory, own)).mode & 0o777).toBe(0o700)
      const seen = await output(box, 'pwd; echo $HOME; node -p process.execPath; mktemp; command -v sudo')
      const [cwd = '', home, node, temporary = '', sudo = ''] = seen.split('\n')
      expect(cwd).toBe(home)
      expect(cwd).toMatch(/\/root\/home\/user$/)
      expect(node).toBe(process.execPath)
      const root = cwd.slice(0, -'/home/user'.length)
      expect(temporary).toContain(`${root}/tmp/`)
      expect(sudo).toBe(`${root}/usr/local/bin/sudo`)
      await box.destroy()
      await eventually(() => existsSync(root), false)
    })

    test('files are reached by the paths of the machine, and no path climbs out of it', async () => {
      const box = await machine()
      const written = await box.files.write('/home/user/../user/deep/file', streamOf('text'), 'user')
      expect(written).toMatchObject({ path: '/home/user/deep/file', owner: 'user' })
      expect(await output(box, 'cat deep/file')).toBe('text')
      expect(await textOf(await box.files.read('/home/user/deep/file'))).toBe('text')
      expect((await box.files.list('/', 1)).map(({ path }) => path)).toContain('/home')
      await expect(box.files.stat(`/${'../'.repeat(20)}proc/self`)).rejects.toMatchObject({ code: 'not-found' })
      await expect(box.files.read('/home/user/none')).rejects.toThrow(/[ ']\/home\/user\/none[':]/)
      await expect(run(box, 'true', { cwd: '/none' })).rejects.toMatchObject({
        code: 'directory-missing',
        message: "cwd '/none' does not exist",
      })
      expect(await output(box, 'pwd', { cwd: '/srv' })).toMatch(/\/root\/srv$/)
    })

    test('an image is a copy: neither side sees later changes of the other, and it can be looked at', async () => {
      const first = await machine()
      await output(first, 'echo one >file; mkdir closed; echo x >closed/x; chmod 555 closed')
      const image = await first.snapshot()
      await output(first, 'echo changed >file')
      const second = await machine(image)
      expect(
        await output(second, "cat file; sudo apt-get install -y git >/dev/null; dpkg-query -W -f '${Package}' git"),
      ).toBe('one\ngit')
      const shown = await runtime.inspectImage(image)
      expect(readFileSync(join(shown?.directory ?? '', 'home/user/file'), 'utf8')).toBe('one\n')
      await shown?.release()
    })

    test('a pause stops exactly what runs in the machine, whatever it has become, and a resume continues it', async () => {
      const [box, other] = await Promise.all([machine(), machine()])
      const [seconds, elsewhere] = [marker(), marker()]
      const common = { user: 'user', env: {}, stdin: false }
      await box.spawn({ command: 'bash', args: ['-c', `setsid sleep ${seconds} & env -i sleep ${seconds}`], ...common })
      await box.spawn({ command: 'sleep', args: [seconds], ...common })
      await other.spawn({ command: 'sleep', args: [elsewhere], ...common })
      await eventually(() => [sleepers(seconds).length, sleepers(elsewhere).length], [3, 1])
      await box.pause()
      expect(sleepers(seconds).map(stateOf)).toEqual(['T', 'T', 'T'])
      expect(sleepers(elsewhere).map(stateOf)).toEqual(['S'])
      await box.resume()
      await eventually(() => sleepers(seconds).map(stateOf), ['S', 'S', 'S'])
      await box.pause()
      await box.destroy()
      expect(sleepers(seconds)).toEqual([])
      expect(sleepers(elsewhere)).toHaveLength(1)
    })

    test('a pause that is over means that everything stands still, on a busy host too', async () => {
      const box = await machine()
      const mark = marker()
      await output(box, busy(mark))
      await eventually(() => hostProcesses(mark).length, busyProcesses)
      await Promise.all([box.pause(), box.pause()])
      expect(hostProcesses(mark).flatMap(threadStates)).toEqual(Array.from({ length: busyProcesses }, () => 'T'))
      await box.destroy()
      expect(hostProcesses(mark)).toEqual([])
    })

    test('what a command left running is ended with its machine, its environment cleared or not', async () => {
      const box = await machine()
      const seconds = marker()
      await output(box, `setsid nohup sleep ${seconds} >/dev/null 2>&1 & (env -i sleep ${seconds} >/dev/null 2>&1 &)`)
      await eventually(() => sleepers(seconds).length, 2)
      await box.destroy()
      expect(sleepers(seconds)).toEqual([])
      await expect(run(box, 'true')).rejects.toMatchObject({ code: 'gone' })
    })

    test('a terminal, a port and what processes take work as in any machine', async () => {
      const box = await machine()
      const terminal = await box.spawn({
        command: '/bin/bash',
        args: ['-c', 'tty; stty size'],
        user: 'user',
        env: {},
        stdin: false,
        pty: { cols: 99, rows: 11 },
      })
      let drawn = ''
      terminal.onOutput(({ data }) => void (drawn += new TextDecoder().decode(data)))
      await terminal.exit
      expect(drawn).toMatch(/\/dev\/pts\/\d+\r\n11 99/)
      const foreign = await listenOnHost()
      await expect(box.connect(foreign.port)).rejects.toMatchObject({ code: 'port-closed' })
      await foreign.close()
      await expectReachable(box, foreign.port, async () => {
        expect((await box.usage())?.memoryBytes).toBeGreaterThan(1_000_000)
      })
    })

    test.each(['running', 'paused'])(
      'SIGKILL of the process that holds a %s machine leaves no process and no directory behind',
      async (state) => {
        const directory = mkdtempSync(join(tmpdir(), 'warmbox-unsafe-'))
        const seconds = marker()
        const host = spawn(process.execPath, [hostProgram, directory, seconds, state], {
          stdio: ['ignore', 'pipe', 'ignore'],
        })
        try {
          await once(host.stdout, 'data')
          await eventually(() => sleepers(seconds).length, 3)
          host.kill('SIGKILL')
          await once(host, 'exit')
          await eventually(() => hostProcesses(seconds), [])
          await eventually(() => hostProcesses(directory), [])
          expect(readdirSync(directory)).toEqual([])
        } finally {
          host.kill('SIGKILL')
          rmSync(directory, { recursive: true, force: true })
        }
      },
    )

    test('SIGKILL of the command line in the middle of a build leaves its temporary directory empty', async () => {
      const { child, temporary, ended, connection, expectNothingLeft } = await startCommandLine('--unsafe-host')
      const seconds = marker()
      await startBuild(await connection(), `sleep ${seconds}`)
      await eventually(() => sleepers(seconds).length, 1)
      expect(readdirSync(temporary)).toHaveLength(2)
      child.kill('SIGKILL')
      await ended
      await expectNothingLeft()
      expect(hostProcesses(seconds)).toEqual([])
    })
  },
)
