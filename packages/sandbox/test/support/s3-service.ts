import { once } from 'node:events'
import { createServer } from 'node:http'
import { buffer } from 'node:stream/consumers'

export interface S3Service {
  readonly url: string
  /** Objects of the bucket `assets`, by key. */
  readonly objects: Map<string, Buffer>
  close(): Promise<void>
}

const listing = (objects: ReadonlyMap<string, Buffer>, prefix: string): string =>
  `<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>assets</Name>` +
  `<Prefix/><MaxKeys>1000</MaxKeys><IsTruncated>false</IsTruncated>${[...objects]
    .filter(([key]) => key.startsWith(prefix))
    .map(
      ([key, { length }]) =>
        `<Contents><Key>${key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>"0"</ETag><Size>${length}</Size></Contents>`,
    )
    .join('')}</ListBucketResult>`

/** As much of S3 as s3fs asks of one flat bucket; it lets in who names the access key, and checks no signature. */
export async function openS3Service(accessKeyId: string): Promise<S3Service> {
  const objects = new Map<string, Buffer>()
  const server = createServer((incoming, outgoing) => {
    void (async () => {
      const body = await buffer(incoming)
      const { pathname, searchParams } = new URL(incoming.url ?? '/', 'http://s3')
      const [, bucket, key = ''] = pathname.split('/')
      if (!incoming.headers.authorization?.includes(`Credential=${accessKeyId}/`)) outgoing.writeHead(403).end()
      else if (bucket !== 'assets') outgoing.writeHead(404).end()
      else if (key === '')
        outgoing
          .writeHead(200, { 'content-type': 'application/xml' })
          .end(listing(objects, searchParams.get('prefix') ?? ''))
      else if (incoming.method === 'PUT') {
        objects.set(key, body)
        outgoing.writeHead(200, { etag: '"0"' }).end()
      } else {
        const object = objects.get(key)
        if (object === undefined) outgoing.writeHead(404).end()
        else {
          outgoing.writeHead(200, {
            'content-length': object.length,
            etag: '"0"',
            'last-modified': 'Thu, 01 Jan 2026 00:00:00 GMT',
          })
          outgoing.end(incoming.method === 'HEAD' ? undefined : object)
        }
      }
    })()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The service has no port')
  return {
    url: `http://127.0.0.1:${address.port}`,
    objects,
    close: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
