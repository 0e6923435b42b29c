import { spawn, type ChildProcess } from 'node:child_process'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'

/** What the CGI needs beyond the request itself. */
export interface BackendRequest {
  /** Bare repository on disk. */
  readonly repository: string
  /** `/info/refs` or `/git-upload-pack`. */
  readonly operation: string
  /** Without the leading `?`. */
  readonly query: string
}

export interface HttpBackend {
  /** Answers through one `git http-backend` process; resolves once that process is gone. */
  serve(request: BackendRequest, incoming: IncomingMessage, response: ServerResponse): Promise<void>
  /** Ends every process, waits until they are gone. */
  close(): Promise<void>
}

/** Room for every parallel fetch of a test run; more than this is a runaway client. */
const maximumProcesses = 32
const maximumMilliseconds = 120_000
const headerLimit = 16 * 1024

/**
 * Fetching a commit by its id is what a pinned clone does, and hosts allow it. The owner check is off because the
 * repositories served are the caller's own, whoever owns the files.
 */
const configuration: readonly (readonly [string, string])[] = [
  ['uploadpack.allowAnySHA1InWant', 'true'],
  ['uploadpack.allowReachableSHA1InWant', 'true'],
  ['http.receivepack', 'false'],
  ['http.getanyfile', 'false'],
  ['safe.directory', '*'],
]

const environmentFor = (request: BackendRequest, incoming: IncomingMessage): NodeJS.ProcessEnv => {
  const environment: NodeJS.ProcessEnv = {
    PATH: process.env['PATH'],
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_COUNT: String(configuration.length),
    GIT_HTTP_EXPORT_ALL: '1',
    GATEWAY_INTERFACE: 'CGI/1.1',
    SERVER_PROTOCOL: 'HTTP/1.1',
    REMOTE_ADDR: incoming.socket.remoteAddress ?? '127.0.0.1',
    REQUEST_METHOD: incoming.method ?? 'GET',
    QUERY_STRING: request.query,
    PATH_INFO: request.operation,
    PATH_TRANSLATED: `${request.repository}${request.operation}`,
    CONTENT_TYPE: incoming.headers['content-type'] ?? '',
    HTTP_CONTENT_ENCODING: incoming.headers['content-encoding'] ?? '',
  }
  for (const [index, [key, value]] of configuration.entries()) {
    environment[`GIT_CONFIG_KEY_${index}`] = key
    environment[`GIT_CONFIG_VALUE_${index}`] = value
  }
  const length = incoming.headers['content-length']
  if (length !== undefined) environment['CONTENT_LENGTH'] = length
  const protocol = incoming.headers['git-protocol']
  if (typeof protocol === 'string') environment['GIT_PROTOCOL'] = protocol
  return environment
}

/** Splits CGI output into its header block and the rest of the stream. */
const readHeaderBlock = async (output: NodeJS.ReadableStream): Promise<{ status: number; headers: string[][] }> => {
  let received = Buffer.alloc(0)
  for (;;) {
    const end = received.indexOf('\r\n\r\n')
    if (end >= 0) {
      const rest = received.subarray(end + 4)
      if (rest.length > 0) output.unshift(rest)
      const lines = received.subarray(0, end).toString('latin1').split('\r\n')
      const headers = lines.map((line) => {
        const colon = line.indexOf(':')
        return [line.slice(0, colon), line.slice(colon + 1).trim()]
      })
      const status = headers.find(([name]) => name?.toLowerCase() === 'status')?.[1]
      return {
        status: status === undefined ? 200 : Number.parseInt(status, 10),
        headers: headers.filter(([name]) => name?.toLowerCase() !== 'status'),
      }
    }
    if (received.length > headerLimit) throw new Error('git http-backend sent no end of headers')
    const chunk = await nextChunk(output)
    if (chunk === undefined) throw new Error('git http-backend ended before its headers did')
    received = Buffer.concat([received, chunk])
  }
}

const nextChunk = (output: NodeJS.ReadableStream): Promise<Buffer | undefined> =>
  new Promise((resolve, reject) => {
    const settle = (action: () => void) => {
      output.off('readable', onReadable)
      output.off('end', onEnd)
      output.off('error', onError)
      action()
    }
    const onReadable = () => {
      const chunk = output.read()
      if (Buffer.isBuffer(chunk)) settle(() => resolve(chunk))
    }
    const onEnd = () => settle(() => resolve(undefined))
    const onError = (error: Error) => settle(() => reject(error))
    output.on('readable', onReadable)
    output.on('end', onEnd)
    output.on('error', onError)
    onReadable()
  })

/** Kills the whole group: http-backend runs upload-pack, which runs pack-objects. */
const killGroup = (child: ChildProcess): void => {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch (error) {
    // ESRCH: the group ended by itself between the check and the signal, which is what was wanted.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}

export const createHttpBackend = (): HttpBackend => {
  const running = new Map<ChildProcess, Promise<void>>()
  let closed = false

  const run = async (request: BackendRequest, incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const child = spawn('git', ['http-backend'], {
      env: environmentFor(request, incoming),
      stdio: ['pipe', 'pipe', 'ignore'],
      detached: true,
    })
    const gone = new Promise<void>((resolve) => {
      child.once('close', () => resolve())
      child.once('error', () => resolve())
    })
    running.set(child, gone)
    const deadline = setTimeout(() => killGroup(child), maximumMilliseconds)
    const onClientGone = () => killGroup(child)
    response.once('close', onClientGone)
    // A client that hangs up, and a backend that does not read its input to the end, both break this pipe; either shows below.
    const upload = pipeline(incoming, child.stdin).catch(() => undefined)
    try {
      const { status, headers } = await readHeaderBlock(child.stdout)
      response.statusCode = status
      for (const [name, value] of headers)
        if (name !== undefined && value !== undefined) response.setHeader(name, value)
      await pipeline(child.stdout, response)
    } catch (error) {
      if (!response.headersSent) response.writeHead(502).end(error instanceof Error ? error.message : 'no answer')
      else response.destroy()
    } finally {
      response.off('close', onClientGone)
      killGroup(child)
      await gone
      await upload
      clearTimeout(deadline)
      running.delete(child)
    }
  }

  return {
    async serve(request, incoming, response) {
      if (closed || running.size >= maximumProcesses) {
        response.writeHead(503).end()
        return
      }
      await run(request, incoming, response)
    },
    async close() {
      closed = true
      for (const child of running.keys()) killGroup(child)
      await Promise.all(running.values())
    },
  }
}
