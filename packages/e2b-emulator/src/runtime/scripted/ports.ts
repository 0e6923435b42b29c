import { createServer } from 'node:http'
import { duplexPair, type Duplex } from 'node:stream'
import { sendResponse, toRequest } from '../../server/node-http.ts'
import { unlessAborted } from '../../abort.ts'
import { RuntimeError } from '../port.ts'
import type { ScriptedPort } from './table.ts'

/** A connection to a port of the table. Throws `port-closed` where the table has no such port. */
export function connectToScriptedPort(ports: readonly ScriptedPort[], port: number): Duplex {
  const row = ports.find((candidate) => candidate.port === port)
  if (row === undefined) {
    throw new RuntimeError(
      'port-closed',
      `nothing listens on port ${port}. Add it with createScriptedRuntime({ ports: [{ port: ${port}, answer }] }).`,
    )
  }
  const [near, far] = duplexPair()
  if ('answer' in row) {
    serveHttp(far, row)
    return near
  }
  try {
    row.accept(far)
  } catch (cause) {
    throw new RuntimeError('failed', `${nameOf(row)} failed: ${String(cause)}`, { cause })
  }
  return near
}

const nameOf = ({ port }: ScriptedPort) => `the row of port ${port} of the scripted runtime`

/** A row that fails, or gives no response, is told as a service tells of its own faults: 500, with the row's name. */
async function responseOf(row: Extract<ScriptedPort, { answer: unknown }>, request: Request): Promise<Response> {
  try {
    const response: unknown = await row.answer(request)
    if (response instanceof Response) return response
    return new Response(`${nameOf(row)} gave no Response\n`, { status: 500 })
  } catch (cause) {
    return new Response(`${nameOf(row)} failed: ${String(cause)}\n`, { status: 500 })
  }
}

function serveHttp(connection: Duplex, row: Extract<ScriptedPort, { answer: unknown }>): void {
  const server = createServer((incoming, outgoing) => {
    const gone = new AbortController()
    outgoing.once('close', () => gone.abort())
    unlessAborted(responseOf(row, toRequest(incoming, gone.signal)), gone.signal)
      .then((response) => sendResponse(response, outgoing))
      // A body that fails drops its client, as a service that crashed would.
      .catch(() => connection.destroy())
  })
  server.emit('connection', connection)
}
