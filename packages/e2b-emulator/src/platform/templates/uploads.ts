import { createWriteStream } from 'node:fs'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { bodyStream } from '../../build/copy-archive.ts'
import { badRequest, forbidden, notFound } from '../api-error.ts'
import type { Platform } from '../platform.ts'
import { route } from '../route.ts'
import { ownTemplateById } from './access.ts'

const HASH = /^[0-9a-f]{64}$/
const UPLOAD_PATH = '/emulator/uploads/'
const LINK_LIFE_MS = 30 * 60 * 1000

/** Where the archive of a COPY step goes, and whether the team uploaded one with this hash before. */
export const fileUploadLink = route('get', '/templates/{templateID}/files/{hash}', {
  handle(platform, { parameter, reply, url }) {
    ownTemplateById(platform, parameter('templateID'))
    const hash = parameter('hash')
    if (!HASH.test(hash)) throw badRequest(`Invalid files hash: '${hash}'`)
    // Where there is no place for uploads, clients show why here; of the upload itself they show the status.
    platform.uploadDirectory()
    // The hash is the secret here, as the signature is on the platform: it is made of the files' contents.
    return reply(201, {
      present: platform.state.uploads.has(hash),
      url: `${platform.uploadOrigin(url)}${UPLOAD_PATH}${hash}?expires=${platform.clock.now() + LINK_LIFE_MS}`,
    })
  },
})

/** The hash a URL made by {@link fileUploadLink} is for. */
export const uploadHash = (url: URL): string | undefined =>
  url.pathname.startsWith(UPLOAD_PATH) ? url.pathname.slice(UPLOAD_PATH.length) : undefined

/** Stores an uploaded archive. It counts only once it is complete. */
export async function receiveUpload(platform: Platform, hash: string, request: Request): Promise<Response> {
  if (request.method !== 'PUT' || !HASH.test(hash)) throw notFound('no such upload')
  const expires = Number(new URL(request.url).searchParams.get('expires'))
  if (!(platform.clock.now() < expires)) throw forbidden('the upload link has expired')
  if (request.body === null) throw badRequest('an upload needs a body')
  const file = join(platform.uploadDirectory(), `${hash}.tar.gz`)
  const partial = `${file}.${platform.identifiers.sandbox()}`
  await pipeline(bodyStream(request.body), createWriteStream(partial), { signal: request.signal })
  await rename(partial, file)
  platform.state.uploads.set(hash, file)
  return new Response(null, { status: 200 })
}
