import { RuntimeError } from '../../runtime/port.ts'
import { sandboxNotFoundAnswer } from '../../envd/index.ts'
import type { Platform } from '../platform.ts'
import { admit, type Admitted } from './admission.ts'
import type { PortConnection } from './connection.ts'
import { exchange } from './exchange.ts'
import { portClosed } from './refusals.ts'
import type { SandboxTarget } from './target.ts'

/** Connects to a port of the sandbox, or says as the platform does why not. */
export async function connectToPort(
  platform: Platform,
  target: SandboxTarget,
  request: Request,
): Promise<PortConnection | Response> {
  const admitted = await admit(platform, target, request.headers)
  return admitted instanceof Response ? admitted : connect(admitted, target, request)
}

/** Hands a request to whatever listens on the port; bodies stream both ways. */
export async function answerFromPort(admitted: Admitted, target: SandboxTarget, request: Request): Promise<Response> {
  const connection = await connect(admitted, target, request)
  if (connection instanceof Response) return connection
  const answer = await exchange(request, connection)
  return answer ?? portClosed(target)
}

async function connect(
  { sandbox, phase }: Admitted,
  target: SandboxTarget,
  request: Request,
): Promise<PortConnection | Response> {
  try {
    return {
      stream: await phase.machine.connect(target.port),
      host: maskedHost(sandbox.network?.maskRequestHost, target.port) ?? new URL(request.url).host,
      signal: phase.traffic.signal,
    }
  } catch (error) {
    if (!(error instanceof RuntimeError)) throw error
    if (error.code === 'port-closed') return portClosed(target)
    if (error.code === 'gone') return sandboxNotFoundAnswer(target.sandboxId)
    throw error
  }
}

const maskedHost = (mask: string | undefined, port: number) =>
  mask === undefined || mask === '' ? undefined : mask.replaceAll('${PORT}', String(port))
