import { createConnectRouter, createContextValues } from '@connectrpc/connect'
import { universalServerRequestFromFetch, universalServerResponseToFetch } from '@connectrpc/connect/protocol'
import { Filesystem } from '../generated/filesystem/filesystem_pb.ts'
import { Process } from '../generated/process/process_pb.ts'
import { filesystemService } from '../filesystem/filesystem-service.ts'
import { processService } from '../process/process-service.ts'
import type { EnvdSession } from '../session.ts'
import { authenticate, sessionKey } from './context.ts'

/** Answers the remote calls of envd, in JSON or binary; undefined where the path is none of them. */
export type RpcRouter = (request: Request, session: EnvdSession, signal: AbortSignal) => Promise<Response> | undefined

export function createRpcRouter(): RpcRouter {
  const router = createConnectRouter({ grpc: false, grpcWeb: false, requestGate: authenticate })
    .service(Process, processService)
    .service(Filesystem, filesystemService)
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]))

  return (request, session, signal) => {
    const handler = handlers.get(new URL(request.url).pathname)
    if (handler === undefined) return undefined
    const call = {
      ...universalServerRequestFromFetch(request, { httpVersion: '1.1' }),
      header: withoutEndlessDeadline(request.headers),
      contextValues: createContextValues().set(sessionKey, session),
      signal,
    }
    return handler(call).then(universalServerResponseToFetch)
  }
}

/** To envd a timeout of zero is none; the protocol library would let it pass at once. */
function withoutEndlessDeadline(given: Headers): Headers {
  if (given.get('Connect-Timeout-Ms') !== '0') return given
  const headers = new Headers(given)
  headers.delete('Connect-Timeout-Ms')
  return headers
}
