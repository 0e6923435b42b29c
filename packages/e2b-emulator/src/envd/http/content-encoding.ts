/** A content encoding this envd does not know. */
export class UnsupportedEncodingError extends Error {
  constructor(encoding: string) {
    super(`unsupported encoding: ${encoding}, supported: gzip`)
    this.name = 'UnsupportedEncodingError'
  }
}

/** The body of a request as it was before it was compressed; undefined for none. */
export function decodedBody(request: Request): ReadableStream<Uint8Array> | undefined {
  const encoding = request.headers.get('Content-Encoding')?.trim().toLowerCase() ?? ''
  if (request.body === null) return undefined
  switch (encoding) {
    case '':
    case 'identity':
      return request.body
    case 'gzip':
      return request.body.pipeThrough(new DecompressionStream('gzip'))
    default:
      throw new UnsupportedEncodingError(encoding)
  }
}

/** The best encoding for an answer by `Accept-Encoding`: identity unless gzip is preferred, or identity refused. */
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
  if (identityRefused) throw new UnsupportedEncodingError(header ?? '')
  return 'identity'
}
