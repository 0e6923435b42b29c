import { attempts } from '../refusals.ts'
import type { EnvdSession } from '../session.ts'
import { findUser } from '../user.ts'
import { jsonAnswer } from './answers.ts'
import { attempted, defaultUser, failedFileAnswer, filePath, FileRequestError, unknownUser } from './file-request.ts'
import { writtenFile } from './written-file.ts'

interface ComposeRequest {
  readonly source_paths: readonly string[]
  readonly destination: string
  readonly username?: string
}

/** `POST /files/compose`: several files become one, in their order, and are gone then. Answers what was written. */
export async function compose(request: Request, session: EnvdSession): Promise<Response> {
  try {
    const { source_paths: sources, destination, username } = await requestOf(request)
    if (sources.length === 0) throw new FileRequestError(400, 'source_paths must not be empty')
    if (destination === '') throw new FileRequestError(400, 'destination is required')
    const name = username ?? defaultUser(session)
    const user = await findUser(session.sandbox, name)
    if (user === undefined) throw unknownUser(name)
    const path = filePath(destination, user, session)
    const sourcePaths = sources.map((source) => filePath(source, user, session))
    if (sourcePaths.includes(path)) throw new FileRequestError(400, `'${path}' cannot be composed of itself`)
    const composed = session.sandbox.machine.files.concatenate(sourcePaths, path, user.name)
    return jsonAnswer(200, writtenFile(path, await attempted(composed, attempts.compose(path))))
  } catch (error) {
    return failedFileAnswer(error)
  }
}

async function requestOf(request: Request): Promise<ComposeRequest> {
  const body = await parsed(request)
  if (!isComposeRequest(body)) throw new FileRequestError(400, 'invalid request body')
  return body
}

async function parsed(request: Request): Promise<unknown> {
  try {
    return await request.json()
  } catch {
    // Not JSON is nothing a request could be.
    return undefined
  }
}

function isComposeRequest(value: unknown): value is ComposeRequest {
  if (typeof value !== 'object' || value === null) return false
  const sources = 'source_paths' in value ? value.source_paths : undefined
  const destination = 'destination' in value ? value.destination : undefined
  const username = 'username' in value ? value.username : undefined
  return (
    Array.isArray(sources) &&
    sources.every((source) => typeof source === 'string') &&
    typeof destination === 'string' &&
    (username === undefined || typeof username === 'string')
  )
}
