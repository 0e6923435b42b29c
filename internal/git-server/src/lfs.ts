import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'

/** What a server has of git LFS: the batch API and the basic transfer, downloads only. */
export interface LfsOptions {
  /** Contents of the files there are. */
  readonly files: readonly string[]
  /** URL of the git server that clients are sent to for the contents; it needs the same `files`. Default: this one. */
  readonly contentAt?: string
}

const idOf = (content: string): string => createHash('sha256').update(content).digest('hex')

/** What a commit holds in the place of an LFS file. */
export const lfsPointer = (content: string): string =>
  `version https://git-lfs.github.com/spec/v1\noid sha256:${idOf(content)}\nsize ${Buffer.byteLength(content)}\n`

export interface LfsBackend {
  /** Answers a request of the protocol; `false` for one that is none of it. */
  serve(
    request: { readonly path: string; readonly origin: string },
    incoming: IncomingMessage,
    response: ServerResponse,
  ): Promise<boolean>
}

const batch = '/objects/batch'
const contents = '/lfs/contents/'
const mediaType = 'application/vnd.git-lfs+json'
const maximumBytes = 1024 * 1024

export const createLfsBackend = ({ files, contentAt }: LfsOptions): LfsBackend => {
  const known = new Map(files.map((content) => [idOf(content), content]))
  return {
    async serve({ path, origin }, incoming, response) {
      if (incoming.method === 'POST' && path.endsWith(batch)) {
        const objects = requestedObjects(await readJson(incoming)).map(({ oid, size }) =>
          known.has(oid)
            ? { oid, size, actions: { download: { href: `${contentAt ?? origin}${contents}${oid}` } } }
            : { oid, size, error: { code: 404, message: 'There is no such object' } },
        )
        response.writeHead(200, { 'content-type': mediaType }).end(JSON.stringify({ transfer: 'basic', objects }))
        return true
      }
      const content = path.startsWith(contents) ? known.get(path.slice(contents.length)) : undefined
      if (content === undefined || incoming.method !== 'GET') return false
      response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(content)
      return true
    },
  }
}

const readJson = async (incoming: IncomingMessage): Promise<unknown> => {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of incoming) {
    if (!Buffer.isBuffer(chunk)) throw new TypeError('a request has no binary body')
    bytes += chunk.length
    if (bytes > maximumBytes) throw new Error('an LFS request is too long')
    chunks.push(chunk)
  }
  return JSON.parse(Buffer.concat(chunks).toString('utf8'))
}

const requestedObjects = (body: unknown): readonly { oid: string; size: number }[] => {
  if (typeof body !== 'object' || body === null || !('objects' in body) || !Array.isArray(body.objects)) return []
  const objects: readonly unknown[] = body.objects
  return objects.flatMap((object) =>
    typeof object === 'object' &&
    object !== null &&
    'oid' in object &&
    typeof object.oid === 'string' &&
    'size' in object &&
    typeof object.size === 'number'
      ? [{ oid: object.oid, size: object.size }]
      : [],
  )
}
