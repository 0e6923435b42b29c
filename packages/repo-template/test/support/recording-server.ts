import { createServer, type IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import type { Emulator } from '@warmbox/e2b-emulator'

export interface RecordingServer {
  readonly connection: { readonly apiUrl: string; readonly apiKey: string }
  /** Body of every request, in order of arrival. */
  readonly bodies: readonly Buffer[]
}

const headersOf = (incoming: IncomingMessage): [string, string][] =>
  Object.entries(incoming.headers).flatMap(([name, value]) =>
    typeof value === 'string' && name !== 'transfer-encoding' ? [[name, value] as [string, string]] : [],
  )

/** Serves an emulator on loopback and keeps what clients send it, uploads included. */
export const recordRequests = async (emulator: Emulator, apiKey: string): Promise<RecordingServer> => {
  const bodies: Buffer[] = []
  const server = createServer((incoming, outgoing) => {
    const answer = async () => {
      const body = await buffer(incoming)
      bodies.push(body)
      const { method = 'GET', url = '/' } = incoming
      const response = await emulator.handle(
        new Request(`http://127.0.0.1:${port}${url}`, {
          method,
          headers: headersOf(incoming),
          ...(method === 'GET' || method === 'HEAD' ? {} : { body: new Uint8Array(body) }),
        }),
      )
      outgoing.writeHead(response.status, Object.fromEntries(response.headers))
      outgoing.end(Buffer.from(await response.arrayBuffer()))
    }
    answer().catch((error: unknown) => outgoing.destroy(error instanceof Error ? error : undefined))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    return new Promise<void>((resolve) => server.close(() => resolve()))
  })
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return { connection: { apiUrl: `http://127.0.0.1:${port}`, apiKey }, bodies }
}
