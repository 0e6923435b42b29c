import { attempts } from '../refusals.ts'
import type { EnvdSession } from '../session.ts'
import { errorAnswer } from './answers.ts'
import { requestedRange, sliced } from './byte-range.ts'
import { answerEncoding } from './content-encoding.ts'
import { attempted, callerOf, failedFileAnswer, filePath, FileRequestError } from './file-request.ts'

/** `GET /files`: the contents of one file, streamed; a byte range of it; gzip where the client accepts that. */
export async function download(request: Request, session: EnvdSession): Promise<Response> {
  try {
    return await contents(request, session)
  } catch (error) {
    return failedFileAnswer(error)
  }
}

async function contents(request: Request, session: EnvdSession): Promise<Response> {
  const user = await callerOf(request, session)
  const path = filePath(new URL(request.url).searchParams.get('path') ?? '', user, session)
  const { files } = session.sandbox.machine
  const attempt = attempts.download(path)
  const entry = await attempted(files.stat(path), attempt)
  if (entry.type === 'directory') throw new FileRequestError(400, `path '${path}' is a directory`)
  const read = () => attempted(files.read(path), attempt)
  const headers = { 'content-type': 'application/octet-stream', vary: 'Accept-Encoding' }
  // The size of a link is its own, not that of the file it leads to.
  const size = entry.symlinkTarget === undefined ? entry.size : undefined

  const rangeHeader = request.headers.get('Range')
  if (rangeHeader !== null && size !== undefined) {
    const range = requestedRange(rangeHeader, size)
    if (range === 'unsatisfiable') {
      return errorAnswer(416, 'invalid range: it lies outside the file', { 'content-range': `bytes */${size}` })
    }
    if (range !== undefined) {
      return new Response(sliced(await read(), range), {
        status: 206,
        headers: {
          ...headers,
          'content-range': `bytes ${range.start}-${range.end}/${size}`,
          'content-length': String(range.end - range.start + 1),
        },
      })
    }
  } else if (answerEncoding(request.headers.get('Accept-Encoding')) === 'gzip') {
    const body = (await read()).pipeThrough(new CompressionStream('gzip'))
    return new Response(body, { headers: { ...headers, 'content-encoding': 'gzip' } })
  }

  if (size === undefined) return new Response(await read(), { headers })
  if (size === 0) return new Response(null, { headers: { ...headers, 'content-length': '0' } })
  // A file that grows meanwhile must not outgrow the length that was announced.
  return new Response(sliced(await read(), { start: 0, end: size - 1 }), {
    headers: { ...headers, 'content-length': String(size) },
  })
}
