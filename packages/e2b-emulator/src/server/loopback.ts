import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { EmulatorError } from '../errors.ts'
import { isRecord } from '../is-record.ts'
import { unknownName } from '../known-names.ts'
import type { PortConnection } from '../platform/traffic/connection.ts'
import { sendResponse, toRequest } from './node-http.ts'
import { serveUpgrade } from './upgrade.ts'

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

/** Throws `INVALID_OPTION` for what is no option, or not one that can be listened with. */
export function assertListenOptions(options: unknown): asserts options is ListenOptions {
  if (!isRecord(options)) throw new EmulatorError('INVALID_OPTION', 'the options of listen must be an object')
  const unknown = unknownName(options, ['port'] satisfies (keyof ListenOptions)[])
  if (unknown !== undefined) {
    throw new EmulatorError('INVALID_OPTION', `there is no option ${unknown.name} of listen`, {
      hint: unknown.guess ?? 'The option is port.',
    })
  }
  const { port = 0 } = options
  if (typeof port === 'number' && Number.isInteger(port) && port >= 0 && port <= 65_535) return
  throw new EmulatorError('INVALID_OPTION', `port must be a whole number from 0 to 65535, not ${String(port)}`)
}

export interface LoopbackServer {
  readonly url: string
  readonly connection: EmulatorConnection
  /** Drops open connections and frees the port. The emulator goes on. */
  close(): Promise<void>
}

/** What the server is a shell of. */
export interface LoopbackCore {
  /** Whether a Host names a sandbox that exists, whatever domain follows: that takes knowing its id, as on the platform. */
  isSandboxHost(host: string): boolean
  handle(request: Request): Promise<Response>
  /** The connection that a request to change protocols is for, or the answer to it. */
  openPort(request: Request): Promise<PortConnection | Response>
}

/**
 * Serves both planes on one port of 127.0.0.1. It executes commands, so other names for this machine are refused (a web
 * page could rebind its own name to it) and no CORS header is ever sent. Rejects with `PORT_UNAVAILABLE`.
 */
export async function listenOnLoopback(
  core: LoopbackCore,
  options: ListenOptions & { readonly apiKey: string },
): Promise<LoopbackServer> {
  const { port: wanted = 0 } = options
  const server = createServer((incoming, outgoing) => void serve(core, incoming, outgoing))
  const tunnels = new Set<Duplex>()
  server.on('upgrade', (incoming: IncomingMessage, socket: Duplex, head: Buffer) => {
    tunnels.add(socket)
    socket.once('close', () => tunnels.delete(socket))
    if (isAllowedHost(core, incoming)) void serveUpgrade((request) => core.openPort(request), incoming, head)
    else socket.destroy()
  })
  // Streams of running commands have no upper bound.
  server.requestTimeout = 0
  await new Promise<void>((resolve, reject) => {
    const refused = (cause: Error) => reject(portUnavailable(wanted, cause))
    server.once('error', refused)
    server.listen(wanted, LOOPBACK, () => {
      server.off('error', refused)
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
        // The server no longer knows of connections that changed protocols.
        for (const socket of tunnels) socket.destroy()
      }),
  }
}

const portUnavailable = (port: number, cause: Error) =>
  new EmulatorError('PORT_UNAVAILABLE', `cannot listen on port ${port} of ${LOOPBACK}: ${refusalOf(cause)}`, {
    hint: 'Use another port, or 0 for any that is free.',
    cause,
  })

function refusalOf(cause: Error): string {
  const code = 'code' in cause ? cause.code : undefined
  if (code === 'EADDRINUSE') return 'something listens there already'
  return code === 'EACCES' ? 'this user may not' : cause.message
}

const isNotRunning = (error: Error) => 'code' in error && error.code === 'ERR_SERVER_NOT_RUNNING'

function addressOf(address: AddressInfo | string | null): AddressInfo {
  if (address === null || typeof address === 'string') throw new TypeError('a TCP server has an address and a port')
  return address
}

/** `127.0.0.1`, `localhost`, `[::1]`, and `<port>-<sandbox>.localhost`. */
const isLoopbackHost = (host: string) => /^(?:127\.0\.0\.1|\[::1\]|(?:[a-z0-9-]+\.)?localhost)(?::\d+)?$/i.test(host)

const isAllowedHost = (core: LoopbackCore, { headers: { host = '' } }: IncomingMessage) =>
  isLoopbackHost(host) || core.isSandboxHost(host)

async function serve(core: LoopbackCore, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const disconnected = new AbortController()
  outgoing.once('close', () => disconnected.abort())
  try {
    const answer = isAllowedHost(core, incoming)
      ? await core.handle(toRequest(incoming, disconnected.signal))
      : foreignHost(incoming)
    await sendResponse(answer, outgoing)
  } catch {
    // Whatever went wrong, there is no answer left to give: the peer gets what was sent, then sees a dropped connection.
    if (outgoing.socket === null) outgoing.destroy()
    else outgoing.socket.destroySoon()
  }
}

const foreignHost = ({ headers: { host = '' } }: IncomingMessage) =>
  Response.json({ code: 403, message: `this server answers to loopback names only, not to "${host}"` }, { status: 403 })
