import { createServer } from 'node:http'
import { duplexPair, type Duplex } from 'node:stream'
import { sendResponse, toRequest } from '../../server/node-http.ts'
import { unlessAborted } from '../../abort.ts'
import { RuntimeError } from '../port.ts'

/** One row of the table of ports: who listens there, in every sandbox. */
export type ScriptedPort =
  /** A service that speaks HTTP. */
  | { readonly port: number; readonly answer: (request: Request) => Response | Promise<Response> }
  /** A service of any kind, which gets the bare connection. */
  | { readonly port: number; readonly accept: (connection: Duplex) => void }

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
  if ('accept' in row) row.accept(far)
  else serveHttp(far, row.answer)
  return near
}

function serveHttp(connection: Duplex, answer: (request: Request) => Response | Promise<Response>): void {
  const server = createServer((incoming, outgoing) => {
    const gone = new AbortController()
    outgoing.once('close', () => gone.abort())
    const respond = async () => answer(toRequest(incoming, gone.signal))
    unlessAborted(respond(), gone.signal)
      .then((response) => sendResponse(response, outgoing))
      // A service that fails drops its client, as a real one that crashed would.
      .catch(() => connection.destroy())
  })
  server.emit('connection', connection)
}
