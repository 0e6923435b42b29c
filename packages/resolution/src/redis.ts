import type { BuildLease, LeaseGrant } from './lease.ts'
import { assertKnownNames, isObject, isRecord, refuseInput } from './option-checks.ts'

/** A client that takes the words of a command one by one, as ioredis does. */
export interface RedisCaller {
  call(command: string, ...words: string[]): Promise<unknown>
}

/** A client that takes the words of a command as a list, as node-redis does. */
export interface RedisSender {
  sendCommand(words: string[]): Promise<unknown>
}

/** What is asked of a Redis client: to send one command. An open client of `redis` or `ioredis` fits as it is. */
export type RedisClient = RedisCaller | RedisSender

export interface RedisLeaseOptions {
  /** What every key begins with. Default `warmbox:lease:`. */
  readonly prefix?: string
}

/** Only the holder's own claim is renewed or dropped: after it ran out the key may be somebody else's. */
const RENEW =
  "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0"
const RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"

/**
 * A lease in Redis, for processes that share it: each claim is one key that expires by itself. Connecting, closing and
 * the client's errors stay with whoever made the client; no command is sent before the first claim.
 *
 * Give the client a bounded patience (`maxRetriesPerRequest` of ioredis, `disableOfflineQueue` of node-redis) and do not
 * wait for `connect()` of node-redis, which lasts until there is a Redis: what Redis does not answer within two seconds is
 * done without the lease.
 *
 * @throws ResolutionError `INVALID_SPEC` for what is no client, and for an option nobody knows.
 */
export function createRedisLease(client: RedisClient, options: RedisLeaseOptions = {}): BuildLease {
  if (!isCaller(client) && !isSender(client)) {
    refuseInput('The Redis client has neither call nor sendCommand', 'Give a client of redis or ioredis')
  }
  const prefix = prefixOf(options)
  const send = (...words: [string, ...string[]]): Promise<unknown> =>
    isCaller(client) ? client.call(...words) : client.sendCommand(words)
  const evaluate = (script: string, { key, holder }: LeaseGrant, ...rest: string[]): Promise<unknown> =>
    send('EVAL', script, '1', prefix + key, holder, ...rest)
  return {
    acquire: async (key, ttlMs) => {
      const holder = crypto.randomUUID()
      const answer = await send('SET', prefix + key, holder, 'NX', 'PX', String(ttlMs))
      return isNothing(answer) ? undefined : { key, holder }
    },
    renew: async (grant, ttlMs) => isOne(await evaluate(RENEW, grant, String(ttlMs))),
    release: async (grant) => {
      await evaluate(RELEASE, grant)
    },
  }
}

const isCaller = (client: unknown): client is RedisCaller =>
  isObject(client) && 'call' in client && typeof client.call === 'function'
const isSender = (client: unknown): client is RedisSender =>
  isObject(client) && 'sendCommand' in client && typeof client.sendCommand === 'function'

const OPTION_NAMES: Readonly<Record<keyof RedisLeaseOptions, true>> = { prefix: true }

function prefixOf(options: RedisLeaseOptions): string {
  if (!isRecord(options)) refuseInput('The options of the lease are not an object', "Write them like { prefix: 'my:' }")
  assertKnownNames('the options of a lease', options, OPTION_NAMES, { isOpen: false })
  const prefix: unknown = options.prefix ?? 'warmbox:lease:'
  if (typeof prefix !== 'string') refuseInput('prefix is not a string', 'Give a string as prefix, or leave it out')
  return prefix
}

const isNothing = (answer: unknown): boolean => answer === null || answer === undefined
/** RESP integers arrive as numbers, or as bigint or text where a client was set up so. */
const isOne = (answer: unknown): boolean => answer === 1 || answer === 1n || answer === '1'
