import { cutOnAbort, unlessAborted } from '../../abort.ts'
import type { Envd } from '../../envd/index.ts'
import { ENVD_PORT } from '../machine-facts.ts'
import type { Platform } from '../platform.ts'
import { admit } from './admission.ts'
import { answerFromPort } from './port.ts'
import type { SandboxTarget } from './target.ts'

/**
 * Answers a request to a sandbox: from its daemon, or from whatever listens on another port. Drops the connection when
 * the sandbox stops running meanwhile.
 */
export async function answerSandboxTraffic(
  request: Request,
  target: SandboxTarget,
  world: { readonly platform: Platform; readonly envd: Envd },
): Promise<Response> {
  const admitted = await admit(world.platform, target, request.headers)
  if (admitted instanceof Response) return admitted
  if (target.port !== ENVD_PORT) return answerFromPort(admitted, target, request)
  const { signal } = admitted.phase.traffic
  const answer = await unlessAborted(world.envd.handle(request, target.sandboxId), signal)
  return cutOnAbort(answer, signal)
}
