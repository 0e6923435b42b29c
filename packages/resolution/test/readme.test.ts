import { readFile } from 'node:fs/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { named, World } from './support/world.ts'

afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

test.each([
  ['the first', 'readme-example.ts'],
  ['that of Redis', 'readme-redis.ts'],
])('the example is the one that is compiled: %s', async (_which, file) => {
  const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8')
  const example = await readFile(new URL(`support/${file}`, import.meta.url), 'utf8')
  // The package whose client is tested here is what `redis` re-exports.
  const written = example.replace("'@redis/client'", "'redis'")
  expect(readme).toContain(`\`\`\`ts\n${written}\`\`\``)
})

test('the example of Redis starts where there is none, and sessions go on with a warning', async () => {
  const told = vi.spyOn(console, 'error').mockReturnValue(undefined)
  // Nothing listens on port 1.
  vi.stubEnv('REDIS_URL', 'redis://127.0.0.1:1')
  const { closeLease, lease } = await import('./support/readme-redis.ts')
  const world = new World()
  expect((await world.start(named(), { lease })).rung).toBe('built')
  expect(world.eventsOf('warning').map(({ code }) => code)).toEqual(['LEASE_UNAVAILABLE'])
  await expect.poll(() => told.mock.calls.length).toBeGreaterThan(0)
  closeLease()
})
