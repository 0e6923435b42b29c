import { isSignedFor } from '../../envd/index.ts'
import { ENVD_PORT } from '../machine-facts.ts'
import type { PlatformState } from '../state.ts'

/** Where inside which sandbox a request wants to go. */
export interface SandboxTarget {
  readonly sandboxId: string
  /** NaN where what stands in its place is no port. */
  readonly port: number
}

/** The id of an older sandbox is followed by that of its node. */
const SANDBOX_HOST = /^(\d+)-([a-z0-9]+)(?:-[a-z0-9]+)*\./

const MAX_PORT = 65_535

/** The sandbox that a Host names, whatever domain follows. */
export const sandboxIdOf = (host: string): string | undefined => SANDBOX_HOST.exec(host)?.[2]

/** The sandbox a request is for: named by host or headers, or recognised by the signature of a file URL; else undefined. */
export function sandboxTarget(request: Request, state: PlatformState): SandboxTarget | undefined {
  const url = new URL(request.url)
  const [, port, sandboxId] = SANDBOX_HOST.exec(url.hostname) ?? []
  if (port !== undefined && sandboxId !== undefined) return { sandboxId, port: asPort(port) }
  const named = request.headers.get('E2b-Sandbox-Id')
  if (named !== null) {
    return { sandboxId: named, port: asPort(request.headers.get('E2b-Sandbox-Port') ?? String(ENVD_PORT)) }
  }
  if (url.pathname === '/files' && url.searchParams.has('signature')) {
    // URLs signed by the SDK name no sandbox when all of them share one address.
    const signer = [...state.sandboxes.values()].find(
      ({ envdAccessToken }) => envdAccessToken !== undefined && isSignedFor(request, envdAccessToken),
    )
    return { sandboxId: signer?.id ?? '', port: ENVD_PORT }
  }
  return undefined
}

function asPort(text: string): number {
  const port = /^\d+$/.test(text) ? Number(text) : Number.NaN
  return port > 0 && port <= MAX_PORT ? port : Number.NaN
}
