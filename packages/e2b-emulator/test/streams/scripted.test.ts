import { Sandbox, TimeoutError } from 'e2b'
import { expect, test } from 'vitest'
import type { ScriptedCommand } from '@warmbox/e2b-emulator'
import { cutOnAbort } from '../../src/abort.ts'
import { collectGarbage } from '../envd/support/garbage.ts'
import { eventually } from '../envd/support/eventually.ts'
import { startEmulator } from '../support/emulator.ts'

const commands: readonly ScriptedCommand[] = [
  {
    match: /^both \d+$/,
    answer: ({ text, stdout, stderr }) => {
      const number = Number(text.split(' ')[1])
      for (let line = 0; line < number % 20; line += 1) {
        stdout(`${number}:${line}\n`)
        stderr(`${line}:${number}\n`)
      }
      return {}
    },
  },
  {
    match: 'endless',
    answer: ({ stdout, signal }) => {
      stdout('running\n')
      return new Promise((resolve) => signal.addEventListener('abort', () => resolve({})))
    },
  },
]

const lines = (count: number, line: (index: number) => string) =>
  Array.from({ length: count }, (_, i) => line(i)).join('')

const heap = async () => {
  await collectGarbage()
  return process.memoryUsage().heapUsed
}

test('two hundred commands at once, each with all its bytes on both streams [D25]', async () => {
  const { connection } = await startEmulator({ commands })
  const sandbox = await Sandbox.create('base', connection)
  const numbers = Array.from({ length: 200 }, (_, index) => index)
  const results = await Promise.all(numbers.map((number) => sandbox.commands.run(`both ${number}`)))
  expect(results.map(({ stdout, stderr }) => [stdout, stderr])).toEqual(
    numbers.map((number) => [
      lines(number % 20, (line) => `${number}:${line}\n`),
      lines(number % 20, (line) => `${line}:${number}\n`),
    ]),
  )
})

test('a kill while commands run breaks every stream, in each of many sandboxes [D24]', async () => {
  const { connection, emulator } = await startEmulator({ commands })
  const sandboxes = await Promise.all(Array.from({ length: 40 }, () => Sandbox.create('base', connection)))
  const running = await Promise.all(
    sandboxes.map((sandbox) => sandbox.commands.run('endless', { background: true, timeoutMs: 0 })),
  )
  const outcomes = running.map((command) =>
    command.wait().then(
      () => undefined,
      (error: unknown) => error,
    ),
  )
  await Promise.all(sandboxes.map((sandbox) => sandbox.kill()))
  for (const outcome of await Promise.all(outcomes)) expect(outcome).toBeInstanceOf(TimeoutError)
  expect(emulator.control.dropStreams()).toBe(0)
})

test('rounds of sandboxes, commands and aborts take no memory', async () => {
  const { connection, emulator } = await startEmulator({ commands })
  const round = async () => {
    const sandbox = await Sandbox.create('base', connection)
    const left = new AbortController()
    const aborted = sandbox.commands.run('endless', { signal: left.signal, timeoutMs: 0 }).catch(() => undefined)
    const watch = await sandbox.files.watchDir('/tmp', () => undefined, { timeoutMs: 0 })
    await sandbox.files.write('/tmp/file', 'x'.repeat(1_000_000))
    await Promise.all(Array.from({ length: 20 }, () => sandbox.commands.run('both 39')))
    left.abort()
    await aborted
    await watch.stop()
    await sandbox.kill()
  }
  for (let count = 0; count < 5; count += 1) await round()
  const before = await heap()
  for (let count = 0; count < 25; count += 1) await round()
  // Twenty-five rounds that leaked would each keep their megabyte.
  expect((await heap()) / before).toBeLessThan(1.4)
  await eventually(() => expect(emulator.control.dropStreams()).toBe(0))
})

test('an answer whose source fails is over, as one that ends is', async () => {
  let over = 0
  const source = new ReadableStream<Uint8Array>({ pull: (controller) => controller.error(new Error('broken')) })
  const cut = cutOnAbort(new Response(source), new AbortController().signal, () => (over += 1))
  await expect(cut.text()).rejects.toThrow('broken')
  expect(over).toBe(1)
})
