import type { Sandbox } from 'e2b'
import { E2BSandboxError } from './errors.ts'
import { portHost } from './sdk.ts'

/** @throws E2BSandboxError `INVALID_OPTION` */
export function assertPort(port: number): void {
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return
  throw new E2BSandboxError({
    code: 'INVALID_OPTION',
    message: `Not a port: ${port}`,
    hint: 'Give a whole number from 1 to 65535',
  })
}

/** Public URL under which a port of a running sandbox answers. */
export const portUrl = (sandbox: Sandbox, port: number): string => `https://${portHost(sandbox, port)}`
