import { ALL_TRAFFIC, Sandbox, SandboxNotFoundError } from 'e2b'
import { describe, expect, test } from 'vitest'
import { startEmulator } from '../support/emulator.ts'

describe('Sandbox.updateNetwork', () => {
  test('replaces the egress rules, clears what is left out, and leaves the ports as they are [S29]', async () => {
    const { connection } = await startEmulator()
    const network = { allowPublicTraffic: false, maskRequestHost: 'localhost', denyOut: ['10.0.0.0/8'] }
    const sandbox = await Sandbox.create('base', { ...connection, network })
    await sandbox.updateNetwork({ allowOut: ['api.example.com', '8.8.8.8'], denyOut: [ALL_TRAFFIC] })
    expect((await sandbox.getInfo()).network).toEqual({
      allowPublicTraffic: false,
      maskRequestHost: 'localhost',
      allowOut: ['api.example.com', '8.8.8.8'],
      denyOut: [ALL_TRAFFIC],
    })
    await sandbox.updateNetwork({ allowInternetAccess: false })
    const info = await sandbox.getInfo()
    expect(info.network).toEqual({ allowPublicTraffic: false, maskRequestHost: 'localhost' })
    expect(info.allowInternetAccess).toBe(false)
  })

  test.each([
    ['a domain that is denied', { denyOut: ['example.com'] }],
    ['no address', { denyOut: ['10.0.0.0/33'] }],
    ['a domain that is allowed while the rest is not denied', { allowOut: ['example.com'] }],
  ])('refuses %s with 400, as create does [S30]', async (_, network) => {
    const { connection } = await startEmulator()
    const sandbox = await Sandbox.create('base', connection)
    await expect(sandbox.updateNetwork(network)).rejects.toMatchObject({ statusCode: 400 })
    await expect(Sandbox.create('base', { ...connection, network })).rejects.toMatchObject({ statusCode: 400 })
  })

  test('of an unknown or paused sandbox is a 404 [S29]', async () => {
    const { connection } = await startEmulator()
    const sandbox = await Sandbox.create('base', connection)
    await sandbox.pause()
    await expect(sandbox.updateNetwork({})).rejects.toBeInstanceOf(SandboxNotFoundError)
    await expect(Sandbox.updateNetwork('nope', {}, connection)).rejects.toBeInstanceOf(SandboxNotFoundError)
  })
})
