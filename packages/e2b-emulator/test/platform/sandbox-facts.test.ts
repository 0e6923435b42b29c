import { Sandbox, SandboxNotFoundError, TimeoutError } from 'e2b'
import { expect, test } from 'vitest'
import { createManualClock } from '@warmbox/e2b-emulator'
import { build } from '../support/builds.ts'
import { startEmulator, type Running } from '../support/emulator.ts'

const answersAbout = async ({ api, emulator, connection }: Running, sandboxID: string) => {
  const path = { sandboxID }
  return [
    (await api.GET('/sandboxes/{sandboxID}', { params: { path } })).data,
    (await api.GET('/v2/sandboxes')).data,
    (await api.POST('/v2/sandboxes/{sandboxID}/connect', { params: { path }, body: {} })).data,
    await (
      await emulator.fetch(`${connection.apiUrl}/sandboxes`, { headers: { 'X-API-KEY': connection.apiKey } })
    ).json(),
  ]
}

test('answers about a sandbox name its template, neither build nor tag; the sandbox itself knows [S10] [B70]', async () => {
  const running = await startEmulator()
  const { templateID, buildID } = await build(running, 'name:some-tag')
  const sandbox = await Sandbox.create('name:some-tag', running.connection)
  for (const answer of await answersAbout(running, sandbox.sandboxId)) {
    const text = JSON.stringify(answer)
    expect(text).toContain(templateID)
    expect(text).not.toContain(buildID)
    expect(text).not.toContain('some-tag')
  }
  expect(await sandbox.files.read('/.e2b')).toBe(`TEMPLATE_ID=${templateID}\nBUILD_ID=${buildID}\n`)
})

test('a create whose answer was lost leaves a sandbox, which its metadata finds [S11]', async () => {
  const { connection, emulator } = await startEmulator({ clock: createManualClock() })
  emulator.control.fault({ match: { path: '/v2/sandboxes', method: 'POST' }, effect: { kind: 'reset', when: 'after' } })
  const metadata = { request: 'once' }
  await expect(Sandbox.create('base', { ...connection, metadata })).rejects.toBeDefined()
  const lost = await Sandbox.list({ ...connection, query: { metadata } }).nextItems()
  expect(lost).toHaveLength(1)
  await emulator.control.advance(300_000)
  expect(await Sandbox.list({ ...connection, query: { metadata } }).nextItems()).toEqual([])
})

test('a listed sandbox lacks its lifecycle and network, a single one has them [S21]', async () => {
  const { api, connection } = await startEmulator()
  const { sandboxId } = await Sandbox.create('base', { ...connection, network: { denyOut: ['0.0.0.0/0'] } })
  const { data: list } = await api.GET('/v2/sandboxes')
  expect(list).toHaveLength(1)
  expect(list?.[0]).not.toHaveProperty('lifecycle')
  expect(list?.[0]).not.toHaveProperty('network')
  const { data: one } = await api.GET('/sandboxes/{sandboxID}', { params: { path: { sandboxID: sandboxId } } })
  expect(one).toMatchObject({ lifecycle: { onTimeout: 'kill' }, network: { denyOut: ['0.0.0.0/0'] } })
})

test('the older list shows running sandboxes alone [S22]', async () => {
  const { connection, emulator } = await startEmulator()
  const running = await Sandbox.create('base', connection)
  const paused = await Sandbox.create('base', connection)
  await paused.pause()
  const response = await emulator.fetch(`${connection.apiUrl}/sandboxes`, {
    headers: { 'X-API-KEY': connection.apiKey },
  })
  expect(await response.json()).toMatchObject([{ sandboxID: running.sandboxId }])
})

test('an unknown or killed sandbox is not found [S23]', async () => {
  const { connection } = await startEmulator()
  const sandbox = await Sandbox.create('base', connection)
  await sandbox.kill()
  for (const id of [sandbox.sandboxId, 'unknown']) {
    await expect(Sandbox.getInfo(id, connection)).rejects.toBeInstanceOf(SandboxNotFoundError)
    await expect(Sandbox.setTimeout(id, 1000, connection)).rejects.toBeInstanceOf(SandboxNotFoundError)
  }
})

test('the daemon is reached by header, by host, and by the signature of a URL alone [D1]', async () => {
  const { connection, emulator } = await startEmulator()
  const sandbox = await Sandbox.create('base', connection)
  await sandbox.files.write('/tmp/note', 'found')
  const byHost = await emulator.fetch(`https://49983-${sandbox.sandboxId}.e2b.app/health`)
  expect(byHost.status).toBe(204)
  const headers = { 'E2b-Sandbox-Id': sandbox.sandboxId, 'E2b-Sandbox-Port': '49983' }
  expect((await emulator.fetch(`${connection.sandboxUrl}/health`, { headers })).status).toBe(204)
  const signed = await sandbox.downloadUrl('/tmp/note')
  expect(signed).not.toContain(sandbox.sandboxId)
  expect(await (await emulator.fetch(signed)).text()).toBe('found')
})

test.each([429, 503])('a %i to a command reads as a sandbox that does not run [D11]', async (status) => {
  const { connection, emulator } = await startEmulator()
  const sandbox = await Sandbox.create('base', connection)
  emulator.control.fault({ match: { path: /process\.Process\/Start$/ }, effect: { kind: 'answer', status } })
  await expect(sandbox.commands.run('true')).rejects.toBeInstanceOf(SandboxNotFoundError)
  expect(await sandbox.isRunning()).toBe(true)
})

test('a list begins after the moment given [S31]', async () => {
  const clock = createManualClock()
  const { api, connection, emulator } = await startEmulator({ clock })
  await Sandbox.create('base', connection)
  const startedAfter = new Date(clock.now()).toISOString()
  await emulator.control.advance(1000)
  const { sandboxId } = await Sandbox.create('base', connection)
  const { data } = await api.GET('/v2/sandboxes', { params: { query: { startedAfter } } })
  expect(data?.map(({ sandboxID }) => sandboxID)).toEqual([sandboxId])
})

test('a client that gives up sees a DOMException, and the sandbox comes all the same [A13]', async () => {
  const { connection, emulator } = await startEmulator({ clock: createManualClock() })
  emulator.control.fault({ match: { path: '/v2/sandboxes' }, effect: { kind: 'delay', ms: 1000 } })
  const failure = await Sandbox.create('base', { ...connection, requestTimeoutMs: 50 }).catch((error: unknown) => error)
  expect(failure).toBeInstanceOf(DOMException)
  expect(failure).not.toBeInstanceOf(TimeoutError)
  expect(failure).toMatchObject({ name: 'TimeoutError' })
  // The delay ended when the client left, and what it asked for was done.
  await expect.poll(() => emulator.control.sandboxes().length).toBe(1)
})
