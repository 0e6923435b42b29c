import { createClient } from '@redis/client'
import { type BuildLease, createMemoryLease } from '@warmbox/resolution'
import { createRedisLease } from '@warmbox/resolution/redis'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { redisMissing, startRedis } from './support/redis-server.ts'

const { signal } = new AbortController()
const skipped = redisMissing === '' ? '' : ` (skipped: ${redisMissing})`
const cleanups: (() => Promise<unknown>)[] = []
let port = 0

beforeAll(async () => {
  if (redisMissing !== '') return
  const server = await startRedis()
  cleanups.push(() => server.stop())
  port = server.port
})

afterAll(async () => {
  for (const cleanup of cleanups.toReversed()) await cleanup()
})

/** A lease for each of two processes. */
const kinds: readonly [string, boolean, () => Promise<readonly [BuildLease, BuildLease]>][] = [
  ['in memory', false, async () => [createMemoryLease(), createMemoryLease()]],
  [
    `in Redis, through node-redis${skipped}`,
    redisMissing !== '',
    async () => {
      const clients = [0, 1].map(() => createClient({ socket: { host: '127.0.0.1', port } }))
      await Promise.all(clients.map((client) => client.connect()))
      cleanups.push(async () => clients.map((client) => client.destroy()))
      const [one, other] = clients.map((client) => createRedisLease(client))
      if (one === undefined || other === undefined) throw new Error('There are two clients')
      return [one, other]
    },
  ],
  [
    `in Redis, through ioredis${skipped}`,
    redisMissing !== '',
    async () => {
      const clients = [0, 1].map(() => new Redis({ host: '127.0.0.1', port, maxRetriesPerRequest: 1 }))
      cleanups.push(async () => clients.map((client) => client.disconnect()))
      const [one, other] = clients.map((client) => createRedisLease(client, { prefix: 'of-the-test:' }))
      if (one === undefined || other === undefined) throw new Error('There are two clients')
      return [one, other]
    },
  ],
]

test.each([
  ['a missing client', 'null', {}, 'has neither call nor sendCommand'],
  ['an object of no client', '{"call":5}', {}, 'has neither call nor sendCommand'],
])('%s is refused', (_what, client, options, message) => {
  expect(() => createRedisLease(JSON.parse(client), options)).toThrow(message)
})

test.each([
  ['a misspelt option', '{"prefx":"my:"}', "'prefx' is no part of", "Did you mean 'prefix'?"],
  ['a prefix of no text', '{"prefix":5}', 'prefix is not a string', 'Give a string'],
  ['options of no form', '"my:"', 'are not an object', 'prefix'],
])('%s is refused', (_what, options, message, hint) => {
  const client = { sendCommand: async () => null }
  const expected: unknown = expect.objectContaining({
    code: 'INVALID_SPEC',
    message: expect.stringContaining(message),
    hint: expect.stringContaining(hint),
  })
  expect(() => createRedisLease(client, JSON.parse(options))).toThrow(expected)
})

let keys = 0
const newKey = (): string => `key-${process.pid}-${(keys += 1)}`

describe.each(kinds)('a lease %s', (_name, isMissing, open) => {
  test.skipIf(isMissing)('has one holder at a time, whoever asks', async () => {
    const [one, other] = await open()
    const key = newKey()
    const claims = await Promise.all(
      Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? one : other).acquire(key, 60_000, signal)),
    )
    const grants = claims.filter((grant) => grant !== undefined)
    expect(grants).toHaveLength(1)
    expect(grants[0]?.key).toBe(key)
    expect(await other.acquire(newKey(), 60_000, signal)).toBeDefined()
  })

  test.skipIf(isMissing)('is free after it was released, by its holder alone', async () => {
    const [one, other] = await open()
    const key = newKey()
    const grant = await one.acquire(key, 60_000, signal)
    if (grant === undefined) throw new Error('It was free')
    await other.release({ ...grant, holder: 'a stranger' }, signal)
    expect(await other.acquire(key, 60_000, signal)).toBeUndefined()
    await one.release(grant, signal)
    expect(await other.acquire(key, 60_000, signal)).toBeDefined()
  })

  test.skipIf(isMissing)('runs out by itself, and its late holder learns so and takes nothing away', async () => {
    const [one, other] = await open()
    const key = newKey()
    const late = await one.acquire(key, 1, signal)
    if (late === undefined) throw new Error('It was free')
    await expect.poll(() => other.acquire(key, 60_000, signal)).toBeDefined()
    expect(await one.renew(late, 60_000, signal)).toBe(false)
    await one.release(late, signal)
    expect(await one.acquire(key, 60_000, signal)).toBeUndefined()
  })

  test.skipIf(isMissing)('lasts as long as it is renewed', async () => {
    const [one, other] = await open()
    const key = newKey()
    const grant = await one.acquire(key, 2_000, signal)
    if (grant === undefined) throw new Error('It was free')
    expect(await one.renew(grant, 60_000, signal)).toBe(true)
    const until = Date.now() + 2_500
    await expect.poll(() => Date.now() > until, { timeout: 10_000 }).toBe(true)
    expect(await other.acquire(key, 60_000, signal)).toBeUndefined()
  })
})
