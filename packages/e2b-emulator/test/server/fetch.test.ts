import { describe, expect, onTestFinished, test } from 'vitest'
import { createEmulator, type EmulatorOptions } from '@warmbox/e2b-emulator'

function start(options: EmulatorOptions = {}) {
  const emulator = createEmulator({ runtime: 'scripted', apiKey: 'e2b_00', ...options })
  onTestFinished(() => emulator.close())
  const call = (path: string, init: RequestInit = {}) =>
    emulator.fetch(`https://api.e2b.app${path}`, { ...init, headers: { 'X-API-KEY': 'e2b_00' } })
  return { emulator, call }
}

const newSandbox = { method: 'POST', body: JSON.stringify({ templateID: 'base' }) }

describe('fetch', () => {
  test('answers both planes without a server', async () => {
    const { emulator, call } = start()
    const created = await call('/v2/sandboxes', newSandbox)
    expect(created.status).toBe(201)
    const [sandbox] = emulator.control.sandboxes()
    const healthy = await emulator.fetch('https://sandbox.e2b.app/health', {
      headers: { 'E2b-Sandbox-Id': sandbox?.sandboxID ?? '', 'E2b-Sandbox-Port': '49983' },
    })
    expect(healthy.status).toBe(204)
  })

  test('rejects as a dropped connection does', async () => {
    const { call } = start({ faults: [{ match: { path: '/v2/sandboxes' }, effect: { kind: 'reset' } }] })
    await expect(call('/v2/sandboxes', newSandbox)).rejects.toThrow(new TypeError('fetch failed'))
    expect((await call('/v2/sandboxes', newSandbox)).status).toBe(201)
  })

  test('rejects with the reason of its signal', async () => {
    const { call } = start({ faults: [{ match: {}, effect: { kind: 'delay', ms: 60_000 } }] })
    const leave = new AbortController()
    const waiting = call('/v2/sandboxes', { ...newSandbox, signal: leave.signal })
    leave.abort(new Error('changed my mind'))
    await expect(waiting).rejects.toThrow('changed my mind')
  })
})
