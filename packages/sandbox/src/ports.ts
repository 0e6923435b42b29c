import type { ConnectionOpts, Sandbox } from 'e2b'
import { E2BSandboxError } from './errors.ts'
import { detachedPortHost, directUrl, portHost } from './sdk.ts'

/** @throws E2BSandboxError `INVALID_OPTION` */
export function assertPort(port: number): void {
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return
  throw new E2BSandboxError({
    code: 'INVALID_OPTION',
    message: `Not a port: ${port}`,
    hint: 'Give a whole number from 1 to 65535',
  })
}

/**
 * Public URL under which a port of a sandbox answers. A platform on this machine has no names of its own, and no TLS: there
 * the sandbox's name goes below `localhost`, which every browser and most systems resolve to the machine itself. No request.
 * @param sandbox the sandbox, or the id of one nobody is connected to
 */
export function portUrl(connection: ConnectionOpts, sandbox: Sandbox | string, port: number): string {
  const sandboxId = typeof sandbox === 'string' ? sandbox : sandbox.sandboxId
  const direct = URL.parse(directUrl(connection) ?? '')
  if (direct !== null && isLoopback(direct.hostname)) {
    return `${direct.protocol}//${port}-${sandboxId}.localhost${direct.port === '' ? '' : `:${direct.port}`}`
  }
  const host = typeof sandbox === 'string' ? detachedPortHost(connection, sandbox, port) : portHost(sandbox, port)
  return `https://${host}`
}

const isLoopback = (host: string): boolean =>
  host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host)
