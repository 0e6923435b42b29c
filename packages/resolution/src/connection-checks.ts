import type { ConnectionOpts } from 'e2b'
import { assertKnownNames, isRecord, refuseInput } from './option-checks.ts'

/** Those of the newest SDK; older ones lack some. */
const names = {
  apiKey: true,
  validateApiKey: true,
  domain: true,
  apiUrl: true,
  sandboxUrl: true,
  debug: true,
  requestTimeoutMs: true,
  retries: true,
  logger: true,
  headers: true,
  proxy: true,
  apiHeaders: true,
  signal: true,
} as const

/** The SDK's connection options, each of them: one that is new there does not compile until it is here. */
export const ENDPOINT_NAMES: Readonly<Record<keyof ConnectionOpts, true>> = names

/** Names of the newest SDK's connection options, for those who look for misspelt ones. */
export const CONNECTION_OPTION_NAMES: readonly string[] = Object.freeze(Object.keys(names))

/**
 * Refuses what the SDK would pass over: with `apikey` in the place of `apiKey` it takes the key of the environment, which
 * may be another account's. The SDK may come to know more names, so only one that resembles a known one is refused.
 * @throws ResolutionError `INVALID_SPEC`
 */
export function assertConnection(connection: object, known: Readonly<Record<string, true>> = ENDPOINT_NAMES): void {
  if (!isRecord(connection)) refuseInput('The connection is not an object', 'Write it like { apiKey }, or leave it out')
  assertKnownNames('the connection', connection, known, { isOpen: true })
  const apiKey: unknown = Reflect.get(connection, 'apiKey')
  if (apiKey !== undefined && typeof apiKey !== 'string') {
    refuseInput('apiKey is not a string', 'Give the E2B API key as apiKey, or leave it out for E2B_API_KEY')
  }
}
