import { request } from 'node:http'
import { connect } from 'node:net'
import { Sandbox, Template } from 'e2b'
import { describe, expect, test } from 'vitest'
import { createEmulator, type ScriptedCommand } from '@warmbox/e2b-emulator'
import { eventually, gate, startEmulator } from '../support/emulator.ts'

/** The status that a request with this Host header gets; fetch would not let it be set. */
function statusFor(url: string, host: string, headers: Record<string, string> = {}): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(`${url}/v2/sandboxes`, { headers: { ...headers, host } }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
      .on('error', reject)
      .end()
  })
}

describe('the loopback server', () => {
  test('listens on 127.0.0.1, on a free port, and tells the SDK how to connect', async () => {
    const { connection } = await startEmulator()
    expect(connection.apiUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/)
    expect(connection.sandboxUrl).toBe(connection.apiUrl)
  })

  test.each([
    ['evil.example', 403],
    ['127.0.0.1.evil.example', 403],
    ['localhost', 200],
    ['127.0.0.1:1', 200],
    ['[::1]', 200],
  ])('answers Host %s with %i', async (host, expected) => {
    const { connection } = await startEmulator()
    expect(await statusFor(connection.apiUrl, host, { 'x-api-key': connection.apiKey })).toBe(expected)
  })

  test('sends no CORS header', async () => {
    const { connection } = await startEmulator()
    const response = await fetch(`${connection.apiUrl}/v2/sandboxes`, {
      headers: { 'x-api-key': connection.apiKey, origin: 'https://evil.example' },
    })
    const names = [...response.headers.keys()].filter((name) => name.startsWith('access-control-'))
    expect(names).toEqual([])
  })

  test('reaches a sandbox by its host name too', async () => {
    const { connection } = await startEmulator()
    const { sandboxId } = await Sandbox.create('base', connection)
    // The daemon's refusal of a call without its token, against the proxy's for a sandbox that does not run.
    expect(await statusFor(connection.apiUrl, `49983-${sandboxId}.localhost`)).toBe(401)
    expect(await statusFor(connection.apiUrl, '49983-nope.localhost')).toBe(502)
  })

  test('waits for a slow reader without heaping up listeners', async () => {
    const chunk = 'x'.repeat(256 * 1024)
    const flood: ScriptedCommand = {
      match: 'flood',
      answer: (call) => {
        for (let count = 0; count < 40; count += 1) call.stdout(chunk)
        return {}
      },
    }
    const { connection } = await startEmulator({ commands: [flood] })
    const sandbox = await Sandbox.create('base', connection)
    const warnings: string[] = []
    const onWarning = (warning: Error) => warnings.push(warning.name)
    process.on('warning', onWarning)
    try {
      const { stdout } = await sandbox.commands.run('flood')
      expect(stdout.length).toBe(40 * chunk.length)
      expect(warnings).toEqual([])
    } finally {
      process.off('warning', onWarning)
    }
  })

  test('streams output as it is written', async () => {
    const command = gate('work')
    const talking: ScriptedCommand = {
      match: 'work',
      answer: async (call) => {
        call.stdout('first\n')
        await (typeof command.row.answer === 'function' ? command.row.answer(call) : undefined)
        return { stdout: 'second\n' }
      },
    }
    const { connection } = await startEmulator({ commands: [talking] })
    const sandbox = await Sandbox.create('base', connection)
    const seen: string[] = []
    const running = await sandbox.commands.run('work', { background: true, onStdout: (text) => void seen.push(text) })
    await eventually(() => (seen.length > 0 ? seen : undefined))
    expect(seen).toEqual(['first\n'])
    command.open()
    expect((await running.wait()).stdout).toBe('first\nsecond\n')
  })

  test('aborts the request when the client goes away, and the command goes on', async () => {
    const { connection } = await startEmulator()
    const sandbox = await Sandbox.create('base', connection)
    const running = await sandbox.commands.run('sleep infinity', { background: true })
    await running.disconnect()
    expect((await sandbox.commands.list()).map(({ pid }) => pid)).toContain(running.pid)
  })

  test('carries a large file both ways', async () => {
    const { connection } = await startEmulator()
    const sandbox = await Sandbox.create('base', connection)
    const content = new Uint8Array(8 * 1024 * 1024).map((_, index) => index % 251)
    await sandbox.files.write('/home/user/large', new Blob([content]))
    const back = await sandbox.files.read('/home/user/large', { format: 'bytes' })
    expect(Buffer.compare(back, content)).toBe(0)
  })

  test('recognises the sandbox of a signed URL, which names none', async () => {
    const { connection } = await startEmulator()
    await Sandbox.create('base', connection)
    const sandbox = await Sandbox.create('base', connection)
    await sandbox.files.write('/home/user/note', 'signed')
    const response = await fetch(await sandbox.downloadUrl('/home/user/note'))
    expect(await response.text()).toBe('signed')
    const forged = new URL(await sandbox.downloadUrl('/home/user/note'))
    forged.searchParams.set('path', '/etc/passwd')
    expect((await fetch(forged)).status).toBe(502)
  })
})

describe('listen', () => {
  test('on a port that is taken is an error of the emulator with its cause', async () => {
    const { connection, emulator } = await startEmulator()
    const port = Number(new URL(connection.apiUrl).port)
    await expect(emulator.listen({ port })).rejects.toMatchObject({
      name: 'EmulatorError',
      code: 'PORT_UNAVAILABLE',
      message: `cannot listen on port ${port} of 127.0.0.1: something listens there already`,
      hint: expect.stringContaining('another port'),
      cause: { code: 'EADDRINUSE' },
    })
  })

  test.each([-1, 65_536, 1.5, Number.NaN])('refuses %d', async (port) => {
    const { emulator } = await startEmulator()
    await expect(emulator.listen({ port })).rejects.toMatchObject({ code: 'INVALID_OPTION' })
  })
})

describe('listen, given what is none of its options,', () => {
  test.each([{ prot: 4983 }, { port: '80' }, null, 4983])('refuses %j', async (options) => {
    const { emulator } = await startEmulator()
    const listen = (given: never) => emulator.listen(given)
    const listening: Promise<unknown> = Reflect.apply(listen, undefined, [options])
    await expect(listening).rejects.toMatchObject({ name: 'EmulatorError', code: 'INVALID_OPTION' })
  })
})

describe('close', () => {
  test('cancels running builds, ends sandboxes and frees the port', async () => {
    const slow = gate('slow')
    const { emulator, connection } = await startEmulator({ commands: [slow.row] })
    await Sandbox.create('base', connection)
    const building = Template.build(Template().fromImage('node:24').runCmd('slow'), 'name', connection)
    building.catch(() => undefined)
    await slow.entered
    await emulator.close()
    slow.open()
    expect(emulator.control.sandboxes()).toEqual([])
    expect(emulator.control.builds().map(({ status }) => status)).not.toContain('building')
    await expect(building).rejects.toBeInstanceOf(Error)
    await expect(
      new Promise((resolve, reject) => {
        connect(Number(new URL(connection.apiUrl).port), '127.0.0.1')
          .on('connect', resolve)
          .on('error', reject)
      }),
    ).rejects.toMatchObject({ code: 'ECONNREFUSED' })
  })

  test('may be called again; then only records are told, and everything else is refused', async () => {
    const { emulator } = await startEmulator()
    const withdraw = emulator.control.fault({ match: {}, effect: { kind: 'reset' } })
    await emulator.close()
    await emulator.close()
    const { control } = emulator
    const closed = expect.objectContaining({ name: 'EmulatorError', code: 'CLOSED' })
    const url = 'http://localhost/v2/sandboxes'
    await expect(emulator.handle(new Request(url))).rejects.toEqual(closed)
    await expect(emulator.fetch(url)).rejects.toEqual(closed)
    await expect(emulator.ready()).rejects.toEqual(closed)
    await expect(emulator.listen()).rejects.toEqual(closed)
    await expect(control.advance(1)).rejects.toEqual(closed)
    await expect(control.filesystemOf('base')).rejects.toEqual(closed)
    expect(() => control.failNextBuild()).toThrow(closed)
    expect(() => control.finishNextCancelledBuild()).toThrow(closed)
    expect(() => control.restartApi()).toThrow(closed)
    expect(() => control.fault({ match: {}, effect: { kind: 'reset' } })).toThrow(closed)
    expect(() => control.dropStreams()).toThrow(closed)
    expect(() => control.addForeignTemplate({ name: 'x', namespace: null, public: true })).toThrow(closed)
    expect([control.sandboxes(), control.requests]).toEqual([[], []])
    expect([control.templates(), control.builds()].map(({ length }) => length)).toEqual([1, 1])
    withdraw()
  })

  test('refuses a listen that is under way, and serves nothing', async () => {
    const emulator = createEmulator({ runtime: 'scripted' })
    const listening = emulator.listen()
    const ready = emulator.ready()
    await emulator.close()
    await expect(listening).rejects.toMatchObject({ code: 'CLOSED' })
    await ready
  })

  test('of one server leaves the emulator and its other servers running', async () => {
    const { emulator } = await startEmulator()
    const extra = await emulator.listen()
    await extra.close()
    const kept = await emulator.listen()
    expect(await Template.exists('base', kept.connection)).toBe(true)
  })
})
