import { http, HttpResponse, type RequestHandler } from 'msw'
import { ConnectionReset } from './faults.ts'
import type { Emulator } from './emulator.ts'

export interface EmulatorHandlerOptions {
  /** Origins whose requests the emulator answers. Default: those of E2B's production. */
  readonly origins?: readonly string[]
}

const PRODUCTION_ORIGINS = ['https://api.e2b.app', 'https://sandbox.e2b.app']

/**
 * msw handlers that answer from an emulator. On Node the SDK brings its own undici, which `setupServer` does not see:
 * use `defineNetwork` with `HttpRequestInterceptor`. Uploads of COPY steps go to a listening server of the emulator if
 * there is one, which intercepted streams need.
 */
export function emulatorHandlers(
  emulator: Pick<Emulator, 'handle'>,
  options: EmulatorHandlerOptions = {},
): RequestHandler[] {
  const { origins = PRODUCTION_ORIGINS } = options
  return origins.map((origin) => http.all(`${origin}/*`, ({ request }) => answer(emulator, request)))
}

async function answer(emulator: Pick<Emulator, 'handle'>, request: Request): Promise<Response> {
  try {
    return withFraming(await emulator.handle(request))
  } catch (error) {
    if (error instanceof ConnectionReset) return HttpResponse.error()
    throw error
  }
}

/** A streamed body must say that it is one: else a client that aborts it takes its HTTP parser down. */
function withFraming(response: Response): Response {
  if (response.body === null || response.headers.has('content-length')) return response
  const headers = new Headers(response.headers)
  headers.set('transfer-encoding', 'chunked')
  return new Response(response.body, { status: response.status, headers })
}
