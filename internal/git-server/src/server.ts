import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { isAuthorized } from './authorization.ts'
import { createServerCertificate } from './certificate.ts'
import { createHttpBackend } from './http-backend.ts'
import { createLfsBackend, type LfsOptions } from './lfs.ts'

/** Answers a request in place of git: a redirect, a status, or nothing at all; or holds it up. */
export type Interceptor = (request: IncomingMessage, response: ServerResponse) => boolean | Promise<boolean>

export interface GitServerOptions {
  /** Path under the server, such as `acme/widgets.git`, to a bare repository on disk. Read at each request. */
  readonly repositories: Readonly<Record<string, string>>
  /** Absent: everybody may read. */
  readonly token?: string
  /** Who the token is the password of in basic form; default `x-access-token`. */
  readonly user?: string
  /** Default `true`. */
  readonly tls?: boolean
  /** Absent: there is no LFS here. Wherever a client looks for the batch API, it is there, behind the token. */
  readonly lfs?: LfsOptions
  /** Sees each request before authorization; `true` means it took the response over (or means never to answer). */
  readonly intercept?: Interceptor
}

export interface RecordedRequest {
  readonly method: string
  readonly url: string
  readonly authorization: string | undefined
  /** 0 while unanswered. */
  readonly status: number
}

export interface GitServer {
  /** `https://localhost:<port>`, without a trailing slash. */
  readonly url: string
  /** PEM; empty without TLS. */
  readonly certificateAuthority: string
  /** In order of arrival. */
  readonly requests: readonly RecordedRequest[]
  cloneUrl(name: string): string
  /** The token asked for from now on; the earlier one stops working. */
  setToken(token: string): void
  /** Drops every connection and ends every git process it started. */
  close(): Promise<void>
}

const operations = new Map([
  ['/info/refs', 'GET'],
  ['/git-upload-pack', 'POST'],
])

/** Starts a read-only smart HTTP server on a free port of loopback. Push is not served. */
export const startGitServer = async (options: GitServerOptions): Promise<GitServer> => {
  const tls = options.tls ?? true
  const certificate = tls ? await createServerCertificate() : undefined
  const backend = createHttpBackend()
  const requests: { method: string; url: string; authorization: string | undefined; status: number }[] = []
  let token = options.token
  const lfs = options.lfs === undefined ? undefined : createLfsBackend(options.lfs)

  const answer = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    if ((await options.intercept?.(incoming, response)) === true) return
    const requested = new URL(incoming.url ?? '/', 'http://localhost')
    if (!isAuthorized(incoming.headers.authorization, token, options.user ?? 'x-access-token')) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end()
      return
    }
    const path = decodeURIComponent(requested.pathname)
    for (const [operation, method] of operations) {
      if (!path.endsWith(operation) || incoming.method !== method) continue
      const repository = options.repositories[path.slice(1, -operation.length)]
      if (repository === undefined) continue
      if (operation === '/info/refs' && requested.searchParams.get('service') !== 'git-upload-pack') {
        response.writeHead(403).end()
        return
      }
      await backend.serve({ repository, operation, query: requested.search.slice(1) }, incoming, response)
      return
    }
    const origin = `${tls ? 'https' : 'http'}://${incoming.headers.host ?? ''}`
    if ((await lfs?.serve({ path, origin }, incoming, response)) === true) return
    response.writeHead(404).end()
  }

  const listener: RequestListener = (incoming, response) => {
    const record = {
      method: incoming.method ?? '',
      url: incoming.url ?? '',
      authorization: incoming.headers.authorization,
      status: 0,
    }
    requests.push(record)
    response.once('finish', () => {
      record.status = response.statusCode
    })
    // The status is known before the last byte, and a client may look at the record as soon as it has that byte.
    response.once('pipe', () => {
      record.status = response.statusCode
    })
    answer(incoming, response).catch(() => {
      if (!response.headersSent) response.writeHead(500)
      response.end()
    })
  }

  const server =
    certificate === undefined
      ? createHttpServer(listener)
      : createHttpsServer({ cert: certificate.certificate, key: certificate.privateKey }, listener)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      server.off('error', reject)
      resolve()
    })
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server listens on no port')
  const url = `${tls ? 'https' : 'http'}://localhost:${address.port}`

  return {
    url,
    certificateAuthority: certificate?.certificateAuthority ?? '',
    requests,
    cloneUrl: (name) => `${url}/${name}`,
    setToken(next) {
      token = next
    },
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await backend.close()
      await closed
    },
  }
}
