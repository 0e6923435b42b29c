import { expect, test, vi } from 'vitest'
import type { Machine, MachineProcess, SpawnOptions } from '../../src/runtime/port.ts'
import { describeReal, eventually, isRoot, output, useRuntime } from './support.ts'

const shell: SpawnOptions = {
  command: '/bin/bash',
  args: ['--norc', '--noprofile'],
  user: 'user',
  env: { PS1: '', TERM: 'xterm' },
  stdin: false,
  pty: { cols: 91, rows: 33 },
}

/** Starts something on a terminal and keeps what it writes. */
async function open(machine: Machine, options: Partial<SpawnOptions> = {}) {
  const process = await machine.spawn({ ...shell, ...options })
  const decoder = new TextDecoder()
  let text = ''
  const streams = new Set<string>()
  process.onOutput(({ stream, data }) => {
    streams.add(stream)
    text += decoder.decode(data, { stream: true })
  })
  return {
    process,
    streams,
    text: () => text,
    says: (expected: string | RegExp) => vi.waitFor(() => expect(text).toMatch(expected), { timeout: 60_000 }),
  }
}

const type = (process: MachineProcess, keys: string) => process.write(new TextEncoder().encode(keys))

describeReal('terminals in a machine', () => {
  const bench = useRuntime()

  test('are the controlling terminal of the command, in the machine’s own /dev/pts [D23]', async () => {
    const machine = await bench().shared()
    const { process, says, streams } = await open(machine, {
      args: ['-c', 'test -t 0 && test -t 1 && test -t 2 && tty && echo direct >/dev/tty && exec cat /proc/self/stat'],
    })
    await process.exit
    await says(/^\/dev\/pts\/\d+\r\ndirect\r\n/)
    // The process is the leader of a session and of the group in the foreground: pid = group = session.
    await says(new RegExp(`\\r\\n${process.pid} \\(cat\\) \\S \\d+ ${process.pid} ${process.pid} \\d+ ${process.pid} `))
    expect([...streams]).toEqual(['pty'])
  })

  test('have the size they were asked for, and tell the program of another [D23]', async () => {
    const { process, says, text } = await open(await bench().shared(), {
      args: ['-c', 'trap "stty size; exit" WINCH; stty size; while :; do read -t 0.05 _; done'],
    })
    await says('33 91')
    await process.resize({ cols: 20, rows: 50 })
    expect((await process.exit).exitCode).toBe(0)
    // Never half of it: the first that the program hears of is the whole.
    expect(text()).toBe('33 91\r\n50 20\r\n')
  })

  test('take keys, and turn those that mean a signal into it [D23]', async () => {
    const machine = await bench().shared()
    const { process, says } = await open(machine)
    await type(process, 'echo $((6 * 7)); sleep 4712\n')
    await says('42')
    // Before it has become a process of its own, the shell would take the signal for itself.
    await eventually(() => output(machine, 'pgrep -cfx "sleep 4712" || true'), '1')
    await type(process, '\u0003')
    await type(process, 'echo interrupted $?; exit 5\n')
    await says('interrupted 130')
    expect(await process.exit).toEqual({ exitCode: 5, exited: true, status: 'exit status 5' })
  })

  test('end what runs in the foreground when their session is killed [D23]', async () => {
    const machine = await bench().shared()
    const { process } = await open(machine)
    await type(process, 'sleep 4711\n')
    const running = () => output(machine, 'pgrep -cfx "sleep 4711" || true')
    await eventually(running, '1')
    await process.signal('SIGKILL')
    expect(await process.exit).toEqual({ exitCode: -1, exited: false, status: 'signal: killed' })
    expect(await running()).toBe('0')
  })

  test('last as long as somebody holds them, as pipes do [D23]', async () => {
    const machine = await bench().shared()
    const { process, says } = await open(machine)
    await type(process, 'trap "" HUP; (sleep 0.5; echo late) & exit\n')
    expect((await process.exit).exitCode).toBe(0)
    await says('late')
  })

  test('pass on every byte, input as long as it likes included [D23]', async () => {
    const machine = await bench().shared()
    const { process, text } = await open(machine, {
      args: ['-c', 'stty raw -echo; echo ready; head -c 300000 | sha256sum'],
    })
    await vi.waitFor(() => expect(text()).toContain('ready'), { timeout: 60_000 })
    await process.write(new Uint8Array(300_000).fill(120))
    await process.exit
    expect(text()).toContain('  -')
    expect(text()).toContain(await output(machine, 'head -c 300000 /dev/zero | tr "\\0" x | sha256sum'))
  })

  test('hold a program back while nobody reads, and lose nothing [D23]', async () => {
    const process = await (await bench().shared()).spawn({ ...shell, args: ['-c', 'stty raw; seq 200000'] })
    let received = ''
    process.onOutput(async ({ data }) => {
      received += new TextDecoder().decode(data)
      await new Promise((resolve) => setImmediate(resolve))
    })
    await process.exit
    expect(received).toBe(Array.from({ length: 200_000 }, (_, index) => `${index + 1}\n`).join(''))
  })

  test('refuse what cannot be started, and leave no terminal behind [D23]', async () => {
    const machine = await bench().machine()
    const start = (options: Partial<SpawnOptions>) => machine.spawn({ ...shell, ...options })
    await expect(start({ command: '/bin/missing' })).rejects.toMatchObject({ code: 'command-missing' })
    await expect(start({ command: 'missing' })).rejects.toMatchObject({ code: 'command-missing' })
    await expect(start({ user: 'nobody-here' })).rejects.toMatchObject({ code: 'user-unknown' })
    expect(await output(machine, 'ls /dev/pts')).toBe('ptmx')
  })

  test('are gone once they are closed: no resize, no input [D23]', async () => {
    const { process } = await open(await bench().shared(), { args: ['-c', 'exit 3'] })
    expect((await process.exit).exitCode).toBe(3)
    await expect(process.resize({ cols: 1, rows: 1 })).rejects.toMatchObject({ code: 'gone' })
    await expect(type(process, 'x')).rejects.toMatchObject({ code: 'gone' })
  })

  test('a process without one cannot be resized [D23]', async () => {
    const machine = await bench().shared()
    const process = await machine.spawn({ command: 'sleep', args: ['1000'], user: 'user', env: {}, stdin: false })
    await expect(process.resize({ cols: 1, rows: 1 })).rejects.toMatchObject({ code: 'unsupported' })
    await process.signal('SIGKILL')
  })

  test.skipIf(!isRoot)('belong to their user (skipped: needs root, which maps more than one id)', async () => {
    const { process, text } = await open(await bench().shared(), { args: ['-c', 'stat -c %U $(tty)'] })
    await process.exit
    expect(text()).toBe('user\r\n')
  })
})
