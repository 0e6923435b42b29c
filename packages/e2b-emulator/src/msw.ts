import { http, HttpResponse, type RequestHandler } from 'msw'
import type { Emulator } from './emulator.ts'
import { EmulatorError } from './errors.ts'
import { ConnectionReset } from './faults.ts'
import { isRecord } from './is-record.ts'
import { unknownName } from './known-names.ts'

export interface EmulatorHandlerOptions {
  /** Origins whose requests the emulator answers, like `https://api.e2b.app`. Default: those of E2B's production. */
  readonly origins?: readonly string[]
}

const PRODUCTION_ORIGINS = ['https://api.e2b.app', 'https://sandbox.e2b.app']

/**
 * msw handlers that answer from an emulator. On Node the SDK brings its own undici, which `setupServer` does not see:
 * use `defineNetwork` with `HttpRequestInterceptor`. Uploads of COPY steps go to a listening server of the emulator if
 * there is one, which intercepted streams need.
 *
 * @throws EmulatorError `INVALID_OPTION` for what is no emulator, or an option that is unknown or malformed
 */
export function emulatorHandlers(
  emulator: Pick<Emulator, 'handle'>,
  options: EmulatorHandlerOptions = {},
): RequestHandler[] {
  assertHandlerOptions(emulator, options)
  const { origins = PRODUCTION_ORIGINS } = options
  return origins.map((origin) => http.all(`${origin}/*`, ({ request }) => answer(emulator, request)))
}

function assertHandlerOptions(emulator: unknown, options: unknown): void {
  if (!isRecord(emulator) || typeof emulator['handle'] !== 'function') {
    throw new EmulatorError('INVALID_OPTION', 'there is no emulator to answer', {
      hint: 'Give what createEmulator() made.',
    })
  }
  if (!isRecord(options)) {
    throw new EmulatorError('INVALID_OPTION', 'the options of the handlers must be an object', {
      hint: 'Leave them out, or write { origins }.',
    })
  }
  const unknown = unknownName(options, ['origins'] satisfies (keyof EmulatorHandlerOptions)[])
  if (unknown !== undefined) {
    throw new EmulatorError('INVALID_OPTION', `there is no option ${unknown.name} of the handlers`, {
      hint: unknown.guess ?? 'The option is origins.',
    })
  }
  const { origins } = options
  if (origins === undefined || (Array.isArray(origins) && origins.every(isOrigin))) return
  throw new EmulatorError('INVALID_OPTION', 'origins must be a list of origins', {
    hint: `An origin is scheme, host and port without anything behind them, like ${PRODUCTION_ORIGINS[0]}.`,
  })
}

/** A longer address would be taken for the beginning of a path, and never match. */
const isOrigin = (value: unknown): boolean =>
  typeof value === 'string' && URL.canParse(value) && new URL(value).origin === value

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
