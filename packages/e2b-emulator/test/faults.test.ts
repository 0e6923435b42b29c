import { RateLimitError, Sandbox, ServiceBusyError } from 'e2b'
import { describe, expect, test } from 'vitest'
import { createManualClock } from '@warmbox/e2b-emulator'
import { eventually, startEmulator } from './support/emulator.ts'

describe('faults', () => {
  test('answer in place of the emulator, once unless told otherwise', async () => {
    const { connection, emulator } = await startEmulator()
    emulator.control.fault({
      match: { path: '/v2/sandboxes', method: 'POST' },
      effect: { kind: 'answer', status: 503 },
    })
    await expect(Sandbox.create('base', connection)).rejects.toBeInstanceOf(ServiceBusyError)
    await expect(Sandbox.create('base', connection)).resolves.toBeDefined()
  })

  test('answer with a status that has no body', async () => {
    const { emulator } = await startEmulator()
    emulator.control.fault({ match: {}, effect: { kind: 'answer', status: 204 } })
    const answer = await emulator.fetch('http://localhost/v2/sandboxes')
    expect([answer.status, await answer.text()]).toEqual([204, ''])
  })

  test('strike after some requests passed, as often as told', async () => {
    const { connection } = await startEmulator({
      faults: [
        {
          match: { path: /^\/v2\/sandboxes$/ },
          skip: 1,
          times: 2,
          effect: { kind: 'answer', status: 429, message: 'slow down' },
        },
      ],
    })
    const outcomes = []
    for (let index = 0; index < 4; index += 1) {
      outcomes.push(
        await Sandbox.create('base', connection).then(
          () => 'created',
          (error: unknown) => error,
        ),
      )
    }
    expect(outcomes).toEqual(['created', expect.any(RateLimitError), expect.any(RateLimitError), 'created'])
  })

  test('reset before: nothing happened', async () => {
    const { connection, emulator } = await startEmulator()
    emulator.control.fault({ match: { path: '/v2/sandboxes' }, effect: { kind: 'reset' } })
    await expect(Sandbox.create('base', connection)).rejects.toBeInstanceOf(Error)
    expect(emulator.control.sandboxes()).toEqual([])
  })

  test('reset after: the sandbox exists, its answer is lost', async () => {
    const { connection, emulator } = await startEmulator()
    emulator.control.fault({ match: { path: '/v2/sandboxes' }, effect: { kind: 'reset', when: 'after' } })
    await expect(Sandbox.create('base', connection)).rejects.toBeInstanceOf(Error)
    expect(emulator.control.sandboxes()).toHaveLength(1)
  })

  test('delay by the clock of the emulator', async () => {
    const { connection, emulator } = await startEmulator({ clock: createManualClock() })
    emulator.control.fault({ match: { path: '/v2/sandboxes' }, effect: { kind: 'delay', ms: 10_000 } })
    let created = false
    const creating = Sandbox.create('base', connection).then(() => {
      created = true
      return created
    })
    await eventually(() => (emulator.control.requests.length > 0 ? true : undefined))
    await emulator.control.advance(9_999)
    expect(created).toBe(false)
    await emulator.control.advance(1)
    expect(await creating).toBe(true)
  })

  test('can be limited to the daemon of sandboxes', async () => {
    const { connection, emulator } = await startEmulator()
    emulator.control.fault({ match: { plane: 'envd' }, effect: { kind: 'answer', status: 502 } })
    const sandbox = await Sandbox.create('base', connection)
    expect(await sandbox.isRunning()).toBe(false)
    expect(await sandbox.isRunning()).toBe(true)
  })

  test('can be withdrawn', async () => {
    const { connection, emulator } = await startEmulator()
    emulator.control.fault({ match: {}, times: 100, effect: { kind: 'answer', status: 500 } })()
    await expect(Sandbox.create('base', connection)).resolves.toBeDefined()
  })
})

describe('latency', () => {
  test('holds every request back', async () => {
    const { connection, emulator } = await startEmulator({ clock: createManualClock(), latency: 250 })
    const creating = Sandbox.create('base', connection)
    await eventually(() => (emulator.control.requests.length > 0 ? true : undefined))
    expect(emulator.control.sandboxes()).toEqual([])
    await emulator.control.advance(250)
    await expect(creating).resolves.toBeDefined()
  })
})
