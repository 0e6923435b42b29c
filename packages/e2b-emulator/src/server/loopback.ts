import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sendResponse, toRequest } from './node-http.ts'

const LOOPBACK = '127.0.0.1'

export interface ListenOptions {
  /** Default 0: any free port. */
  readonly port?: number
}

/** What the e2b SDK needs to be pointed at an emulator; pass it as connection options. */
export interface EmulatorConnection {
  readonly apiUrl: string
  readonly sandboxUrl: string
  readonly apiKey: string
}

export interface LoopbackServer {
  readonly url: string
  readonly connection: EmulatorConnection
  /** Drops open connections and frees the port. The emulator goes on. */
  close(): Promise<void>
}

/**
 * Serves both planes on one port of 127.0.0.1. It executes commands, so other names for this machine are refused (a web
 * page could rebind its own name to it) and no CORS header is ever sent.
 */
export async function listenOnLoopback(
  handle: (request: Request) => Promise<Response>,
  options: ListenOptions & { readonly apiKey: string },
): Promise<LoopbackServer> {
  const server = createServer((incoming, outgoing) => void serve(handle, incoming, outgoing))
  // Streams of running commands have no upper bound.
  server.requestTimeout = 0
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port ?? 0, LOOPBACK, () => {
      server.off('error', reject)
      resolve()
    })
  })
  const { port } = addressOf(server.address())
  const url = `http://${LOOPBACK}:${port}`
  return {
    url,
    connection: { apiUrl: url, sandboxUrl: url, apiKey: options.apiKey },
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error === undefined || isNotRunning(error) ? resolve() : reject(error)))
        server.closeAllConnections()
      }),
  }
}

const isNotRunning = (error: Error) => 'code' in error && error.code === 'ERR_SERVER_NOT_RUNNING'

function addressOf(address: AddressInfo | string | null): AddressInfo {
  if (address === null || typeof address === 'string') throw new TypeError('a TCP server has an address and a port')
  return address
}

/** `127.0.0.1`, `localhost`, `[::1]`, and `<port>-<sandbox>.localhost`. */
const isLoopbackHost = (host: string) => /^(?:127\.0\.0\.1|\[::1\]|(?:[a-z0-9-]+\.)?localhost)(?::\d+)?$/i.test(host)

async function serve(
  handle: (request: Request) => Promise<Response>,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const { host = '' } = incoming.headers
  if (!isLoopbackHost(host)) {
    const body = JSON.stringify({ code: 403, message: `this server answers to loopback names only, not to "${host}"` })
    outgoing.writeHead(403, { 'content-type': 'application/json' }).end(body)
    return
  }
  const disconnected = new AbortController()
  outgoing.once('close', () => disconnected.abort())
  try {
    await sendResponse(await handle(toRequest(incoming, disconnected.signal)), outgoing)
  } catch {
    // Whatever went wrong, there is no answer left to give: the peer sees a dropped connection.
    outgoing.destroy()
  }
}
