import { isSignedFor, sandboxNotFoundAnswer, type Envd } from '../envd/index.ts'
import { cutOnAbort, unlessAborted } from '../abort.ts'
import { ENVD_PORT } from './machine-facts.ts'
import type { PlatformState, SandboxRecord } from './state.ts'

/** Where inside which sandbox a request wants to go. */
export interface SandboxTarget {
  readonly sandboxId: string
  readonly port: number
}

const SANDBOX_HOST = /^(\d+)-([a-z0-9]+)\./

/** The sandbox a request is for: named by header or host, or recognised by the signature of a file URL; else undefined. */
export function sandboxTarget(request: Request, state: PlatformState): SandboxTarget | undefined {
  const url = new URL(request.url)
  const named = request.headers.get('E2b-Sandbox-Id')
  if (named !== null) {
    return { sandboxId: named, port: Number(request.headers.get('E2b-Sandbox-Port') ?? ENVD_PORT) }
  }
  const [, port, sandboxId] = SANDBOX_HOST.exec(url.hostname) ?? []
  if (port !== undefined && sandboxId !== undefined) return { sandboxId, port: Number(port) }
  if (url.pathname === '/files' && url.searchParams.has('signature')) {
    // URLs signed by the SDK name no sandbox when all of them share one address.
    const signer = [...state.sandboxes.values()].find(
      ({ envdAccessToken }) => envdAccessToken !== undefined && isSignedFor(request, envdAccessToken),
    )
    return { sandboxId: signer?.id ?? '', port: ENVD_PORT }
  }
  return undefined
}

/** Hands a request to the daemon of a running sandbox, and drops the connection when the sandbox stops running meanwhile. */
export async function answerSandboxTraffic(
  request: Request,
  target: SandboxTarget,
  world: { readonly state: PlatformState; readonly envd: Envd },
): Promise<Response> {
  const sandbox: SandboxRecord | undefined = world.state.sandboxes.get(target.sandboxId)
  if (sandbox?.phase.name !== 'running') return sandboxNotFoundAnswer(target.sandboxId)
  if (target.port !== ENVD_PORT) return portClosedAnswer(target)
  const { signal } = sandbox.phase.traffic
  const answer = await unlessAborted(world.envd.handle(request, target.sandboxId), signal)
  return cutOnAbort(answer, signal)
}

const portClosedAnswer = ({ sandboxId, port }: SandboxTarget) =>
  Response.json(
    { sandboxId, message: `The sandbox is running but port ${port} is not reachable`, port, code: 502 },
    { status: 502 },
  )
