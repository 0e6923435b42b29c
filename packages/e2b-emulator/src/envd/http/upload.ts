import { posix } from 'node:path'
import type { EnvdSession } from '../session.ts'
import type { SandboxUser } from '../user.ts'
import { errorAnswer, jsonAnswer } from './answers.ts'
import { decodedBody } from './content-encoding.ts'
import { callerOf, failedFileAnswer, filePath, FileRequestError } from './file-request.ts'

interface WrittenFile {
  readonly name: string
  readonly path: string
  readonly type: 'file'
}

/**
 * `POST /files`: writes files, their parents too, for the user. One as `application/octet-stream`, streamed, or any
 * number as `multipart/form-data` in parts named `file`. Answers what was written.
 */
export async function upload(request: Request, session: EnvdSession): Promise<Response> {
  try {
    const user = await callerOf(request, session)
    if ([...request.headers.keys()].some((name) => name.startsWith('x-metadata-'))) {
      return errorAnswer(501, 'file metadata is not emulated')
    }
    const given = request.headers.get('Content-Type') ?? ''
    const type = given.split(';', 1)[0]?.trim().toLowerCase() ?? ''
    if (type === 'application/octet-stream') return jsonAnswer(200, await writeBody(request, user, session))
    if (type.startsWith('multipart/')) return jsonAnswer(200, await writeParts(request, given, user, session))
    return errorAnswer(
      400,
      `unsupported content type: ${given}, expected multipart/form-data or application/octet-stream`,
    )
  } catch (error) {
    return failedFileAnswer(error)
  }
}

async function writeBody(request: Request, user: SandboxUser, session: EnvdSession): Promise<WrittenFile[]> {
  const path = new URL(request.url).searchParams.get('path')
  if (path === null) throw new FileRequestError(400, 'path query parameter is required for raw body upload')
  const content = decodedBody(request) ?? emptyContent()
  return [await write(filePath(path, user, session), content, user, session)]
}

async function writeParts(
  request: Request,
  contentType: string,
  user: SandboxUser,
  session: EnvdSession,
): Promise<WrittenFile[]> {
  const form = await formOf(request, contentType)
  const only = new URL(request.url).searchParams.get('path')
  const written: WrittenFile[] = []
  for (const part of form.getAll('file')) {
    const file = typeof part === 'string' ? new File([part], '') : part
    const path = filePath(only ?? file.name, user, session)
    if (written.some((earlier) => earlier.path === path)) {
      throw new FileRequestError(400, `cannot write '${path}' twice in one request; only its first part was written`)
    }
    written.push(await write(path, file.stream(), user, session))
  }
  return written
}

async function formOf(request: Request, contentType: string): Promise<FormData> {
  try {
    return await new Response(decodedBody(request) ?? null, { headers: { 'content-type': contentType } }).formData()
  } catch (cause) {
    throw cause instanceof TypeError ? new FileRequestError(500, 'error parsing multipart form') : cause
  }
}

async function write(
  path: string,
  content: ReadableStream<Uint8Array>,
  user: SandboxUser,
  session: EnvdSession,
): Promise<WrittenFile> {
  await session.sandbox.machine.files.write(path, content, user.name)
  return { name: posix.basename(path), path, type: 'file' }
}

function emptyContent(): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.close() })
}
