import { createRedisLease } from '@warmbox/resolution/redis'
import { createClient } from '@redis/client'

const client = createClient({
  url: process.env['REDIS_URL'] ?? 'redis://localhost:6379',
  disableOfflineQueue: true,
})
client.on('error', (error: Error) => console.error(`Redis: ${error.message}`))
// Not awaited: it lasts until there is a Redis, and sessions start without one.
client.connect().catch(() => undefined)

/** The `lease` option of bootFromSpec, ensureTemplate and E2BSandbox. */
export const lease = createRedisLease(client)
export const closeLease = () => client.destroy()
