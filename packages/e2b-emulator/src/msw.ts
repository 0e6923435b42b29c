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
    return await emulator.handle(request)
  } catch (error) {
    if (error instanceof ConnectionReset) return HttpResponse.error()
    throw error
  }
}
