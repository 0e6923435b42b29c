/** A content encoding this envd does not know. */
export class UnsupportedEncodingError extends Error {
  constructor(encoding: string) {
    super(`unsupported encoding: ${encoding}, supported: gzip`)
    this.name = 'UnsupportedEncodingError'
  }
}

/** The client takes none of the encodings there are. */
export class NotAcceptableError extends Error {
  constructor() {
    super('no acceptable encoding found, supported: [identity, gzip]')
    this.name = 'NotAcceptableError'
  }
}

/** The body of a request does not begin as its encoding does. */
export class MalformedBodyError extends Error {
  constructor() {
    super('error decompressing request body: gzip: invalid header')
    this.name = 'MalformedBodyError'
  }
}

/** The body of a request as it was before it was compressed; undefined for none. */
export async function decodedBody(request: Request): Promise<ReadableStream<Uint8Array> | undefined> {
  const encoding = request.headers.get('Content-Encoding')?.trim().toLowerCase() ?? ''
  if (request.body === null) return undefined
  switch (encoding) {
    case '':
    case 'identity':
      return request.body
    case 'gzip':
      return (await assertGzip(request.body)).pipeThrough(new DecompressionStream('gzip'))
    default:
      throw new UnsupportedEncodingError(encoding)
  }
}

/** Looks at the first bytes before anything is made of the rest, and puts them back. */
async function assertGzip(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
): Promise<ReadableStream<Uint8Array<ArrayBuffer>>> {
  const reader = body.getReader()
  let start = new Uint8Array(0)
  for (;;) {
    const { done, value } = await reader.read()
    if (!done) start = joined(start, value)
    if (done || start.byteLength >= 2) break
  }
  if (start[0] !== 0x1f || start[1] !== 0x8b) {
    await reader.cancel()
    throw new MalformedBodyError()
  }
  return new ReadableStream({
    start: (controller) => controller.enqueue(start),
    async pull(controller) {
      const { done, value } = await reader.read()
      if (done) controller.close()
      else controller.enqueue(value)
    },
    cancel: (reason) => reader.cancel(reason),
  })
}

function joined(left: Uint8Array, right: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(left.byteLength + right.byteLength)
  both.set(left)
  both.set(right, left.byteLength)
  return both
}

/** The best encoding for an answer by `Accept-Encoding`: identity unless gzip is preferred. Throws where
 * neither is accepted. */
export function answerEncoding(header: string | null): 'gzip' | 'identity' {
  const preferences = (header ?? '')
    .split(',')
    .map((part) => {
      const [name = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase())
      const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2)
      return { name, quality: quality === undefined ? 1 : Number(quality) }
    })
    .toSorted((left, right) => right.quality - left.quality)
  const identityRefused = preferences.some(({ name, quality }) => name === 'identity' && quality === 0)
  for (const { name, quality } of preferences) {
    if (quality === 0) continue
    if (name === 'gzip') return 'gzip'
    if (name === 'identity') return 'identity'
    if (name === '*') return identityRefused ? 'gzip' : 'identity'
  }
  if (identityRefused) throw new NotAcceptableError()
  return 'identity'
}
