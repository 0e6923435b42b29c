import { createHash } from 'node:crypto'
import { create, toBinary } from '@bufbuild/protobuf'
import { Sandbox, TimeoutError } from 'e2b'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createEmulator, probeNamespaces, type Emulator, type EmulatorConnection } from '@warmbox/e2b-emulator'
import { StartRequestSchema } from '../../src/envd/generated/process/process_pb.ts'
import { collectGarbage } from '../envd/support/garbage.ts'
import { eventually } from '../envd/support/eventually.ts'

/** Set where minutes count more than the last test; `pnpm test` alone runs all. */
const isShort = process.env['WARMBOX_SHORT_TESTS'] === '1'

const probe = await probeNamespaces()
const skipped = probe.available ? '' : ` (skipped: ${probe.reason})`

const MEBIBYTE = 1024 * 1024
const BYTES = 16 * MEBIBYTE

const memory = () => process.memoryUsage().heapUsed + process.memoryUsage().external

const openResources = () =>
  process.getActiveResourcesInfo().filter((kind) => kind !== 'Timeout' && kind !== 'Immediate')

const settled = async () => {
  await collectGarbage()
  return { open: openResources().length, heap: process.memoryUsage().heapUsed }
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

describe.skipIf(!probe.available)(`streams of real machines${skipped}`, { timeout: 120_000 }, () => {
  let emulator: Emulator
  let connection: EmulatorConnection
  let sandbox: Sandbox

  beforeAll(async () => {
    emulator = createEmulator({ runtime: 'real' })
    connection = (await emulator.listen()).connection
    sandbox = await Sandbox.create('base', connection)
  }, 120_000)

  afterAll(() => emulator.close(), 120_000)

  /** Everything that may be left half done, in a sandbox of its own. */
  const round = async () => {
    const one = await Sandbox.create('base', connection)
    const left = new AbortController()
    const running = await one.commands.run('exec sleep 1000', { background: true, timeoutMs: 0 })
    const aborted = one.commands.run('exec sleep 1000', { signal: left.signal, timeoutMs: 0 }).catch(() => undefined)
    const terminal = await one.pty.create({ cols: 80, rows: 24, onData: () => undefined, timeoutMs: 0 })
    const watch = await one.files.watchDir('/tmp', () => undefined, { timeoutMs: 0 })
    await one.files.write('/tmp/file', 'x'.repeat(MEBIBYTE), { metadata: { kind: 'round' } })
    await one.files.read('/tmp/file')
    await Promise.all(Array.from({ length: 10 }, () => one.commands.run('seq 1000')))
    left.abort()
    await aborted
    await Promise.all([running.disconnect(), terminal.kill(), watch.stop()])
    await one.kill()
  }

  /** The same sandbox, as another program would reach it. */
  const secondClient = () => Sandbox.connect(sandbox.sandboxId, connection)

  const isRunning = async (pid: number) => (await sandbox.commands.list()).some((listed) => listed.pid === pid)

  test('16 MB on both streams at once arrive, every byte in order [D25]', async () => {
    const numbers = (first: number) => `seq ${first} 9999999 | head -c ${BYTES}`
    const { stdout, stderr } = await sandbox.commands.run(`${numbers(1)} & ${numbers(5_000_000)} >&2; wait`, {
      timeoutMs: 0,
    })
    const expected = await sandbox.commands.run(`${numbers(1)} | sha256sum; ${numbers(5_000_000)} | sha256sum`)
    expect([stdout.length, stderr.length]).toEqual([BYTES, BYTES])
    expect(`${sha256(stdout)}  -\n${sha256(stderr)}  -\n`).toBe(expected.stdout)
  })

  test('a reader that does not read stops the program, and memory stays flat; then it gets all of it [D25]', async () => {
    const total = 64 * MEBIBYTE
    const response = await fetch(new URL('/process.Process/Start', connection.sandboxUrl), {
      method: 'POST',
      headers: {
        'content-type': 'application/connect+proto',
        'E2b-Sandbox-Id': sandbox.sandboxId,
        'X-Access-Token': emulator.control.sandboxes()[0]?.envdAccessToken ?? '',
      },
      body: startMessage(`exec head -c ${total} /dev/zero`),
    })
    const written = async () => {
      const { stdout } = await sandbox.commands.run(`cat /proc/$(pgrep -xf "head -c ${total} /dev/zero")/io`)
      return Number(/^wchar: (\d+)$/m.exec(stdout)?.[1])
    }
    await eventually(async () => expect(await written()).toBeGreaterThan(0))
    // It has stopped once two looks, each of them a command of its own, see the same.
    let before = -1
    await eventually(async () => {
      const now = await written()
      const same = now === before
      before = now
      expect(same).toBe(true)
    })
    expect(before).toBeLessThan(total / 4)
    await collectGarbage()
    const atRest = memory()
    let received = 0
    let nextLook = total / 8
    let highest = 0
    for await (const chunk of response.body ?? []) {
      received += chunk.byteLength
      if (received < nextLook) continue
      nextLook += total / 8
      // What is kept counts, not what waits to be collected.
      await collectGarbage()
      highest = Math.max(highest, memory())
    }
    expect(received).toBeGreaterThan(total)
    expect(highest).toBeGreaterThan(0)
    expect(highest - atRest).toBeLessThan(total / 2)
  })

  test('two hundred commands at once, each with all its bytes on both streams [D25]', async () => {
    const numbers = Array.from({ length: 200 }, (_, index) => index)
    const results = await Promise.all(
      numbers.map((number) => sandbox.commands.run(`echo ${number}; seq ${number} >&2; exit 0`, { timeoutMs: 0 })),
    )
    expect(results.map(({ stdout }) => stdout)).toEqual(numbers.map((number) => `${number}\n`))
    expect(results.map(({ stderr }) => stderr)).toEqual(
      numbers.map((number) => Array.from({ length: number }, (_, index) => `${index + 1}\n`).join('')),
    )
    expect(await sandbox.commands.list()).toEqual([])
  })

  test('the timeout of a call kills its process [D15]', async () => {
    const command = await sandbox.commands.run('exec sleep 1000', { background: true, timeoutMs: 500 })
    await expect(command.wait()).rejects.toBeInstanceOf(TimeoutError)
    await eventually(async () => expect(await isRunning(command.pid)).toBe(false))
  })

  test('a client that aborts or leaves does not end the process; another one reaches it [D15] [D16]', async () => {
    const left = new AbortController()
    const aborted = sandbox.commands.run('exec sleep 4711', { signal: left.signal, timeoutMs: 0 })
    const outcome = aborted.then(
      () => 'ended',
      () => 'aborted',
    )
    await eventually(async () => expect(await sandbox.commands.list()).toHaveLength(1))
    left.abort()
    expect(await outcome).toBe('aborted')
    const command = await sandbox.commands.run('read -r line; echo "got $line"; read -r _', {
      background: true,
      stdin: true,
      timeoutMs: 0,
    })
    await command.disconnect()
    const other = await secondClient()
    const listed = await other.commands.list()
    expect(listed).toHaveLength(2)
    const again = await other.commands.connect(command.pid, { timeoutMs: 0 })
    await other.commands.sendStdin(command.pid, 'one\ntwo\n')
    await expect(again.wait()).resolves.toMatchObject({ stdout: 'got one\n', exitCode: 0 })
    await Promise.all(listed.map(({ pid }) => other.commands.kill(pid)))
    await eventually(async () => expect(await sandbox.commands.list()).toEqual([]))
  })

  test('input is closed from either client, and the program sees its end [D17]', async () => {
    const command = await sandbox.commands.run('wc -c', { background: true, stdin: true })
    const other = await secondClient()
    await other.commands.sendStdin(command.pid, 'x'.repeat(300_000))
    await other.commands.closeStdin(command.pid)
    expect((await command.wait()).stdout.trim()).toBe('300000')
    await expect(other.commands.sendStdin(command.pid, 'late')).rejects.toThrow('not found')
  })

  test('a kill while fifty commands run breaks every stream, and the next sandbox is not affected [D24]', async () => {
    const warnings: string[] = []
    const warn = (warning: Error) => void warnings.push(warning.name)
    process.on('warning', warn)
    onTestFinished(() => void process.off('warning', warn))
    const doomed = await Sandbox.create('base', connection)
    const commands = await Promise.all(
      Array.from({ length: 50 }, () =>
        doomed.commands.run('while :; do echo more; sleep 0.5; done', { background: true, timeoutMs: 0 }),
      ),
    )
    const watch = await doomed.files.watchDir('/tmp', () => undefined, { timeoutMs: 0 })
    const outcomes = commands.map((command) =>
      command.wait().then(
        () => undefined,
        (error: unknown) => error,
      ),
    )
    await doomed.kill()
    for (const outcome of await Promise.all(outcomes)) expect(outcome).toBeInstanceOf(TimeoutError)
    await watch.stop()
    expect((await sandbox.commands.run('echo here')).stdout).toBe('here\n')
    // Of listeners that pile up on what is closed.
    expect(warnings).toEqual([])
  })

  test.skipIf(isShort)(
    'rounds of sandboxes, commands, aborts and kills leave nothing open and no memory taken',
    async () => {
      for (let count = 0; count < 3; count += 1) await round()
      const before = await settled()
      for (let count = 0; count < 9; count += 1) await round()
      await eventually(async () => expect((await settled()).open).toBeLessThanOrEqual(before.open + 3))
      const after = await settled()
      // Nine rounds that leaked would each keep their megabyte, or the machinery of a sandbox.
      expect(after.heap / before.heap).toBeLessThan(1.5)
      expect(emulator.control.dropStreams()).toBe(0)
    },
  )
})

/** A framed start of `bash -c`, in the binary form, which is the smaller one. */
function startMessage(command: string): Uint8Array<ArrayBuffer> {
  const process = { cmd: '/bin/bash', args: ['-c', command] }
  const message = toBinary(StartRequestSchema, create(StartRequestSchema, { process }))
  const framed = new Uint8Array(5 + message.byteLength)
  new DataView(framed.buffer).setUint32(1, message.byteLength)
  framed.set(message, 5)
  return framed
}
