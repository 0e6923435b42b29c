import { Sandbox } from 'e2b'
import { describe, expect, test } from 'vitest'
import * as fc from 'fast-check'
import { createManualClock, seededIdentifierSource } from '@warmbox/e2b-emulator'
import { build } from '../support/builds.ts'
import { startEmulator, type Running } from '../support/emulator.ts'

async function list({ connection }: Running, options: Parameters<typeof Sandbox.list>[0] = {}) {
  const paginator = Sandbox.list({ ...connection, ...options })
  const found: string[] = []
  while (paginator.hasNext) found.push(...(await paginator.nextItems()).map(({ sandboxId }) => sandboxId))
  return found
}

/** Sandboxes a second apart, oldest first. */
async function sandboxes(running: Running, count: number) {
  const ids: string[] = []
  for (let index = 0; index < count; index += 1) {
    ids.push((await Sandbox.create('base', { ...running.connection, metadata: { index: String(index) } })).sandboxId)
    await running.emulator.control.advance(1000)
  }
  return ids
}

const start = () => startEmulator({ clock: createManualClock(), ids: seededIdentifierSource('list') })

describe('Sandbox.list', () => {
  test('is newest first, oldest first on request [S16]', async () => {
    const running = await start()
    const ids = await sandboxes(running, 3)
    expect(await list(running)).toEqual(ids.toReversed())
    expect(await list(running, { order: 'asc' })).toEqual(ids)
  })

  test('pages through everything once, in both orders [S17]', async () => {
    const running = await start()
    const ids = await sandboxes(running, 5)
    expect(await list(running, { limit: 2 })).toEqual(ids.toReversed())
    expect(await list(running, { limit: 2, order: 'asc' })).toEqual(ids)
  })

  test('goes on where it was when the last sandbox of a page is gone', async () => {
    const running = await start()
    const ids = await sandboxes(running, 4)
    const paginator = Sandbox.list({ ...running.connection, limit: 2, order: 'asc' })
    await paginator.nextItems()
    await Sandbox.kill(ids[1] ?? '', running.connection)
    expect((await paginator.nextItems()).map(({ sandboxId }) => sandboxId)).toEqual(ids.slice(2))
  })

  test('refuses a cursor of the other order, and limits out of range [S17]', async () => {
    const running = await start()
    await sandboxes(running, 3)
    const paginator = Sandbox.list({ ...running.connection, limit: 2 })
    await paginator.nextItems()
    const other = Sandbox.list({ ...running.connection, order: 'asc', nextToken: paginator.nextToken ?? '' })
    await expect(other.nextItems()).rejects.toMatchObject({ statusCode: 400 })
    for (const limit of [0, 101]) {
      const { response } = await running.api.GET('/v2/sandboxes', { params: { query: { limit } } })
      expect(response.status).toBe(400)
    }
  })

  test('shows both states unless asked for one, and counts the running ones [S18]', async () => {
    const running = await start()
    const [first = '', second = ''] = await sandboxes(running, 2)
    await Sandbox.pause(first, running.connection)
    expect(await list(running)).toEqual([second, first])
    expect(await list(running, { query: { state: ['paused'] } })).toEqual([first])
    expect(await list(running, { query: { state: ['running'] } })).toEqual([second])
    expect(await list(running, { query: { state: ['running', 'paused'] } })).toEqual([second, first])
    const { response } = await running.api.GET('/v2/sandboxes')
    expect(response.headers.get('x-total-running')).toBe('1')
  })

  test('filters by metadata: every given pair must be equal [S19]', async () => {
    const running = await start()
    const metadata = { a: '1', b: '2' }
    const { sandboxId } = await Sandbox.create('base', { ...running.connection, metadata })
    await Sandbox.create('base', { ...running.connection, metadata: { a: '1' } })
    expect(await list(running, { query: { metadata } })).toEqual([sandboxId])
    expect(await list(running, { query: { metadata: { a: '1', b: '3' } } })).toEqual([])
  })

  test('filters by metadata of any text: three layers of encoding are undone [S19]', async () => {
    const running = await start()
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: 'grapheme', minLength: 1 }),
        fc.string({ unit: 'grapheme' }),
        async (key, value) => {
          const sandbox = await Sandbox.create('base', { ...running.connection, metadata: { [key]: value } })
          const found = await list(running, { query: { metadata: { [key]: value } } })
          await sandbox.kill()
          expect(found).toEqual([sandbox.sandboxId])
        },
      ),
      {
        numRuns: 25,
        examples: [
          ['a+b c', 'x&y=z%20/ü'],
          ['%', '+'],
        ],
      },
    )
  })

  test('filters by template name or id, refuses a tag, and finds nothing for an unknown one [S20]', async () => {
    const running = await start()
    const { templateID } = await build(running, 'name')
    await sandboxes(running, 1)
    const { sandboxId } = await Sandbox.create('name', running.connection)
    expect(await list(running, { query: { template: 'name' } })).toEqual([sandboxId])
    expect(await list(running, { query: { template: templateID } })).toEqual([sandboxId])
    expect(await list(running, { query: { template: 'unknown' } })).toEqual([])
    await expect(list(running, { query: { template: 'name:v1' } })).rejects.toMatchObject({ statusCode: 400 })
  })
})
