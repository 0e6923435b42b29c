import { attempts } from '../refusals.ts'
import type { EnvdSession } from '../session.ts'
import type { SandboxUser } from '../user.ts'
import { errorAnswer, jsonAnswer } from './answers.ts'
import { decodedBody } from './content-encoding.ts'
import { fileMetadata } from './file-metadata.ts'
import { attempted, callerOf, failedFileAnswer, filePath, FileRequestError } from './file-request.ts'
import { writtenFile, type WrittenFile } from './written-file.ts'

/**
 * `POST /files`: writes files, their parents too, for the user. One as `application/octet-stream`, streamed, or any
 * number as `multipart/form-data` in parts named `file`. All get the metadata of
 * the `X-Metadata-*` headers and lose what they had. Answers what was written.
 */
export async function upload(request: Request, session: EnvdSession): Promise<Response> {
  try {
    const user = await callerOf(request, session)
    const target: Target = { user, metadata: session.can('metadata') ? fileMetadata(request.headers) : {}, session }
    const given = request.headers.get('Content-Type') ?? ''
    const type = given.split(';', 1)[0]?.trim().toLowerCase() ?? ''
    if (!session.can('octetStream') && !type.startsWith('multipart/'))
      return errorAnswer(500, 'error parsing multipart form')
    if (type === 'application/octet-stream') return jsonAnswer(200, await writeBody(request, target))
    if (type.startsWith('multipart/')) return jsonAnswer(200, await writeParts(request, given, target))
    return errorAnswer(
      400,
      `unsupported content type: ${given}, expected multipart/form-data or application/octet-stream`,
    )
  } catch (error) {
    return failedFileAnswer(error)
  }
}

/** What all files of one upload have in common. */
interface Target {
  readonly user: SandboxUser
  readonly metadata: Readonly<Record<string, string>>
  readonly session: EnvdSession
}

async function writeBody(request: Request, target: Target): Promise<WrittenFile[]> {
  const path = new URL(request.url).searchParams.get('path')
  if (path === null) throw new FileRequestError(400, 'path query parameter is required for raw body upload')
  const content = (await decodedBody(request)) ?? emptyContent()
  return [await write(filePath(path, target.user, target.session), content, target)]
}

async function writeParts(request: Request, contentType: string, target: Target): Promise<WrittenFile[]> {
  const form = await formOf(request, contentType)
  const only = new URL(request.url).searchParams.get('path')
  const written: WrittenFile[] = []
  for (const part of form.getAll('file')) {
    const file = typeof part === 'string' ? new File([part], '') : part
    const path = filePath(only ?? file.name, target.user, target.session)
    if (written.some((earlier) => earlier.path === path)) {
      throw new FileRequestError(400, `cannot write '${path}' twice in one request; only its first part was written`)
    }
    written.push(await write(path, file.stream(), target))
  }
  return written
}

async function formOf(request: Request, contentType: string): Promise<FormData> {
  const body = (await decodedBody(request)) ?? null
  try {
    return await new Response(body, { headers: { 'content-type': contentType } }).formData()
  } catch (cause) {
    throw cause instanceof TypeError ? new FileRequestError(500, 'error parsing multipart form') : cause
  }
}

async function write(
  path: string,
  content: ReadableStream<Uint8Array>,
  { user, metadata, session }: Target,
): Promise<WrittenFile> {
  const written = session.sandbox.machine.files.write(path, content, user.name, { metadata })
  return writtenFile(path, await attempted(written, attempts.upload(path)))
}

function emptyContent(): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.close() })
}
