import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { collectGarbage } from './support/garbage.ts'
import { startEnvd } from './support/harness.ts'
import { PlayedProcess } from './support/process.ts'

const CHUNK_BYTES = 64 * 1024
const CHUNKS = 256
const MEGABYTES_16 = CHUNK_BYTES * CHUNKS

/** Writes 16 MB as fast as its reader lets it, a different letter in each chunk. */
class Flood extends PlayedProcess {
  written = 0

  async pour(): Promise<void> {
    for (let index = 0; index < CHUNKS; index++) {
      this.written += CHUNK_BYTES
      await this.emit({ stream: 'stdout', data: chunk(index) })
    }
    this.end()
  }
}

const chunk = (index: number) => new Uint8Array(CHUNK_BYTES).fill(97 + (index % 26))

const digestOfAll = () => {
  const hash = createHash('sha256')
  for (let index = 0; index < CHUNKS; index++) hash.update(chunk(index))
  return hash.digest('hex')
}

/** Lets everything happen that needs no more than the event loop to go round. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 100; turn++) await nextTurn()
}

const start = {
  method: 'POST',
  headers: { 'content-type': 'application/connect+json' },
  body: envelope({ process: { cmd: '/bin/bash', args: ['-c', 'flood'] } }),
}

/** One message as the protocol frames it: a flag, the length, the text. */
function envelope(message: unknown): Uint8Array<ArrayBuffer> {
  const text = Buffer.from(JSON.stringify(message))
  const framed = new Uint8Array(5 + text.byteLength)
  new DataView(framed.buffer).setUint32(1, text.byteLength)
  framed.set(text, 5)
  return framed
}

describe('16 MB of output', { timeout: 120_000 }, () => {
  test('reach the SDK, every byte and in order [D25]', async () => {
    const flood = new Flood()
    const { sandbox } = await startEnvd({ processes: { flood: () => flood } })
    const command = await sandbox.commands.run('flood', { background: true })
    const [result] = await Promise.all([command.wait(), flood.pour()])
    expect(result.stdout).toHaveLength(MEGABYTES_16)
    expect(createHash('sha256').update(result.stdout).digest('hex')).toBe(digestOfAll())
  })

  test('wait in the process while nobody reads, and come when somebody does [D25]', async () => {
    const flood = new Flood()
    const { fetch } = await startEnvd({ processes: { flood: () => flood } })
    const response = await fetch('/process.Process/Start', start)
    const poured = flood.pour()
    await settle()
    expect(flood.written).toBeGreaterThan(0)
    expect(flood.written).toBeLessThan(1024 * 1024)
    const body = await response.arrayBuffer()
    await poured
    expect(flood.written).toBe(MEGABYTES_16)
    // Base64 takes four characters for three bytes.
    expect(body.byteLength).toBeGreaterThan((MEGABYTES_16 * 4) / 3)
  })

  test('do not wait for a client that left', async () => {
    const flood = new Flood()
    const { fetch } = await startEnvd({ processes: { flood: () => flood } })
    const response = await fetch('/process.Process/Start', start)
    const poured = flood.pour()
    await settle()
    await response.body?.cancel()
    await poured
    expect(flood.written).toBe(MEGABYTES_16)
  })

  test('do not wait for a client that broke off, even where nothing else remembers its request', async () => {
    const flood = new Flood()
    const { fetch } = await startEnvd({ processes: { flood: () => flood } })
    const left = new AbortController()
    await fetch('/process.Process/Start', { ...start, signal: left.signal })
    const poured = flood.pour()
    await settle()
    await collectGarbage()
    left.abort()
    await poured
    expect(flood.written).toBe(MEGABYTES_16)
  })

  test('do not wait for a sandbox that is gone', async () => {
    const flood = new Flood()
    const { fetch, kill } = await startEnvd({ processes: { flood: () => flood } })
    const response = await fetch('/process.Process/Start', start)
    const poured = flood.pour()
    await settle()
    expect(flood.written).toBeLessThan(1024 * 1024)
    kill()
    await poured
    await expect(response.text()).rejects.toThrow('terminated')
  })

  test('go at the pace of the slowest of two readers', async () => {
    const flood = new Flood()
    const { fetch, processes } = await startEnvd({ processes: { flood: () => flood } })
    const idle = await fetch('/process.Process/Start', start)
    const fast = processes().connect({ process: { selector: { case: 'pid', value: flood.pid } } })
    let received = 0
    const reading = (async () => {
      for await (const { event } of fast) {
        const data = event?.event.case === 'data' ? event.event.value.output.value : undefined
        received += data?.byteLength ?? 0
      }
    })()
    await settle()
    const poured = flood.pour()
    await settle()
    expect(flood.written).toBeLessThan(1024 * 1024)
    await idle.body?.cancel()
    await Promise.all([poured, reading])
    expect(received).toBe(MEGABYTES_16)
  })
})
