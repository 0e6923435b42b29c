import { timingSafeEqual } from 'node:crypto'
import { ApiError } from './api-error.ts'
import type { Platform } from './platform.ts'
import { notEmulated, type Route } from './route.ts'
import { ROUTES } from './routes.ts'
import { receiveUpload, uploadHash } from './templates/uploads.ts'

/** Answers control-plane requests. Never rejects for a request's fault; every refusal has the platform's shape. */
export function createRouter(platform: Platform, apiKey: string): (request: Request) => Promise<Response> {
  const patterns = ROUTES.map(compile)
  return async (request) => {
    const url = new URL(request.url)
    try {
      if (request.method === 'GET' && url.pathname === '/health') return new Response('Health check successful')
      const hash = uploadHash(url)
      if (hash !== undefined) return await receiveUpload(platform, hash, request)
      authenticate(request, apiKey)
      const found = match(patterns, request.method, url.pathname)
      if (found === undefined) return notEmulated(`${request.method} ${url.pathname}`, 'no such route is known')
      return await found.route.respond(platform, { url, parameters: found.parameters, request })
    } catch (error) {
      if (error instanceof ApiError) return error.toResponse()
      return new ApiError(500, `internal error: ${error instanceof Error ? error.message : String(error)}`).toResponse()
    }
  }
}

function authenticate(request: Request, apiKey: string): void {
  const given = Buffer.from(request.headers.get('X-API-KEY') ?? '')
  const wanted = Buffer.from(apiKey)
  if (given.length === wanted.length && timingSafeEqual(given, wanted)) return
  throw new ApiError(
    401,
    'Unauthorized, the API key is missing or invalid.\nPass the key this emulator was started with in the X-API-KEY header.',
  )
}

interface Pattern {
  readonly route: Route
  readonly method: string
  readonly segments: readonly string[]
  /** How many segments are fixed: `/templates/tags` goes before `/templates/{templateID}`. */
  readonly weight: number
}

function compile(route: Route): Pattern {
  const segments = route.path.split('/')
  const weight = segments.filter((segment) => !isParameter(segment)).length
  return { route, method: route.method.toUpperCase(), segments, weight }
}

const isParameter = (segment: string) => segment.startsWith('{')

function match(patterns: readonly Pattern[], method: string, path: string) {
  // Raw segments, so that an encoded slash or colon stays inside its parameter.
  const segments = path.split('/')
  const [best] = patterns
    .filter((pattern) => pattern.method === method && pattern.segments.length === segments.length)
    .filter((pattern) =>
      pattern.segments.every((segment, index) => isParameter(segment) || segment === segments[index]),
    )
    .toSorted((left, right) => right.weight - left.weight)
  if (best === undefined) return undefined
  const parameters = best.segments.flatMap((segment, index) =>
    isParameter(segment) ? [[segment.slice(1, -1), decode(segments[index] ?? '')] as const] : [],
  )
  return { route: best.route, parameters: Object.fromEntries(parameters) }
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    // A stray percent sign: taken literally, it will match nothing.
    return segment
  }
}
