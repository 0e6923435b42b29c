import { randomBytes } from 'node:crypto'
import { Sandbox, TimeoutError } from 'e2b'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ScriptedCommand } from '@warmbox/e2b-emulator'
import { cutAfter } from '../src/cut-stream.ts'
import { eventually, startEmulator } from './support/emulator.ts'

const counting: ScriptedCommand = {
  match: 'count',
  answer: async ({ stdout, signal }) => {
    for (let number = 1; !signal.aborted && number <= 3; number += 1) {
      stdout(`${number}\n`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    return {}
  },
}
const endless: ScriptedCommand = {
  match: 'endless',
  answer: ({ stdout, signal }) => {
    stdout('running\n')
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve({})))
  },
}

/** An `endless` command that has said so. */
const running = async (sandbox: Sandbox) => {
  let output = ''
  const command = await sandbox.commands.run('endless', {
    background: true,
    onStdout: (text) => void (output += text),
  })
  await eventually(() => (output === '' ? undefined : output))
  return command
}

describe('a stream that is dropped', () => {
  test('after two messages the client has the start and one output, and the sandbox goes on [D43]', async () => {
    const { connection, emulator } = await startEmulator({ commands: [counting] })
    const sandbox = await Sandbox.create('base', connection)
    emulator.control.fault({
      match: { path: '/process.Process/Start' },
      effect: { kind: 'drop-stream', after: { messages: 2 } },
    })
    const output: string[] = []
    const command = sandbox.commands.run('count', { onStdout: (text) => void output.push(text) })
    await expect(command).rejects.toThrow('terminated')
    expect(output).toEqual(['1\n'])
    expect((await sandbox.commands.run('count')).stdout).toBe('1\n2\n3\n')
  })

  test('before its first message breaks the call, which took effect', async () => {
    const { connection, emulator } = await startEmulator({ commands: [endless] })
    const sandbox = await Sandbox.create('base', connection)
    emulator.control.fault({
      match: { path: '/process.Process/Start' },
      effect: { kind: 'drop-stream', after: { messages: 0 } },
    })
    await expect(sandbox.commands.run('endless')).rejects.toThrow('terminated')
    await expect(sandbox.commands.list()).resolves.toHaveLength(1)
  })

  test('after some bytes a download is short, and says so [D43]', async () => {
    const { connection, emulator } = await startEmulator()
    const sandbox = await Sandbox.create('base', connection)
    // What fetch asks for is compressed, and this hardly gets smaller.
    await sandbox.files.write('/tmp/long', randomBytes(10_000).toString('hex'))
    emulator.control.fault({
      match: { method: 'GET', path: '/files' },
      effect: { kind: 'drop-stream', after: { bytes: 4_000 } },
    })
    await expect(sandbox.files.read('/tmp/long')).rejects.toThrow('terminated')
    await expect(sandbox.files.read('/tmp/long')).resolves.toHaveLength(20_000)
  })

  test('later than its end ends as usual', async () => {
    const { connection, emulator } = await startEmulator({ commands: [counting] })
    const sandbox = await Sandbox.create('base', connection)
    emulator.control.fault({
      match: { path: '/process.Process/Start' },
      effect: { kind: 'drop-stream', after: { messages: 100 } },
    })
    expect((await sandbox.commands.run('count')).stdout).toBe('1\n2\n3\n')
  })

  test('on command: those of one sandbox, whose process goes on and can be reached again [D43]', async () => {
    const { connection, emulator } = await startEmulator({ commands: [endless] })
    const [dropped, spared] = await Promise.all([
      Sandbox.create('base', connection),
      Sandbox.create('base', connection),
    ])
    const broken = await running(dropped)
    const kept = await running(spared)
    expect(emulator.control.dropStreams(dropped.sandboxId)).toBe(1)
    await expect(broken.wait()).rejects.toThrow('terminated')
    const again = await dropped.commands.connect(broken.pid)
    await again.kill()
    await expect(again.wait()).rejects.toMatchObject({ error: 'signal: killed' })
    await kept.kill()
    await expect(kept.wait()).rejects.toMatchObject({ error: 'signal: killed' })
    await eventually(() => (emulator.control.dropStreams() === 0 ? true : undefined))
  })

  test('by a kill is told apart from one that was merely dropped', async () => {
    const { connection } = await startEmulator({ commands: [endless] })
    const sandbox = await Sandbox.create('base', connection)
    const command = await sandbox.commands.run('endless', { background: true })
    await sandbox.kill()
    await expect(command.wait()).rejects.toBeInstanceOf(TimeoutError)
  })
})

/** Everything that came before the end or the break. */
async function readAll(answer: Response): Promise<{ readonly bytes: Uint8Array; readonly broken: boolean }> {
  const chunks: Uint8Array[] = []
  const reader = answer.body?.getReader()
  for (;;) {
    try {
      const next = await reader?.read()
      if (next?.value === undefined) return { bytes: Buffer.concat(chunks), broken: false }
      chunks.push(next.value)
    } catch {
      return { bytes: Buffer.concat(chunks), broken: true }
    }
  }
}

/** A message as the daemon's streams carry it. */
const framed = (message: Uint8Array) => {
  const prefix = Buffer.alloc(5)
  prefix.writeUInt32BE(message.byteLength, 1)
  return Buffer.concat([prefix, message])
}

describe('a cut', () => {
  test('lets exactly the bytes before it pass, however they come', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ minLength: 1, maxLength: 9 }), { maxLength: 8 }),
        fc.nat(60),
        async (chunks, limit) => {
          const whole = Buffer.concat(chunks)
          const read = await readAll(cutAfter(new Response(ReadableStream.from(chunks)), { bytes: limit }))
          expect(Buffer.from(read.bytes)).toEqual(whole.subarray(0, limit))
          expect(read.broken).toBe(limit <= whole.byteLength)
        },
      ),
    )
  })

  test('lets exactly the messages before it pass, however they come', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ maxLength: 9 }), { maxLength: 6 }),
        fc.integer({ min: 1, max: 7 }),
        fc.nat(7),
        async (messages, chunkBytes, limit) => {
          const frames = messages.map(framed)
          const whole = Buffer.concat(frames)
          const chunks = Array.from({ length: Math.ceil(whole.byteLength / chunkBytes) }, (_, index) =>
            whole.subarray(index * chunkBytes, (index + 1) * chunkBytes),
          )
          const read = await readAll(cutAfter(new Response(ReadableStream.from(chunks)), { messages: limit }))
          expect(Buffer.from(read.bytes)).toEqual(Buffer.concat(frames.slice(0, limit)))
          expect(read.broken).toBe(limit <= messages.length)
        },
      ),
    )
  })
})
