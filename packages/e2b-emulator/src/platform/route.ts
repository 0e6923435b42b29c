import type {
  BodyOf,
  Method,
  MethodOf,
  PathParameterOf,
  QueryParameterOf,
  ReplyContent,
  RoutePath,
  SuccessOf,
} from './contract.ts'
import { ApiError, badRequest } from './api-error.ts'
import type { Check } from './check.ts'
import type { Platform } from './platform.ts'

/** How much of an operation is emulated; the support matrix is made of these. */
export type Support =
  | { readonly level: 'full' }
  | { readonly level: 'partial'; readonly gap: string }
  | { readonly level: 'none'; readonly reason: string }

/** One row of the route table. `Name` is `get /sandboxes` and so on. */
export interface Route<Name extends string = string> {
  readonly name: Name
  readonly method: Method
  readonly path: string
  readonly support: Support
  respond(platform: Platform, request: MatchedRequest): Promise<Response>
}

/** A request whose path matched; parameters are decoded. */
export interface MatchedRequest {
  readonly url: URL
  readonly parameters: Readonly<Record<string, string>>
  readonly request: Request
}

export interface Call<P extends RoutePath, M extends MethodOf<P>> {
  readonly url: URL
  readonly body: BodyOf<P, M>
  readonly parameter: (name: PathParameterOf<P, M>) => string
  readonly query: (name: QueryParameterOf<P, M>) => string | undefined
  readonly header: (name: string) => string | undefined
  /** The answer: a status the contract knows, with the body that belongs to it. */
  readonly reply: <S extends SuccessOf<P, M>>(status: S, ...content: ReplyContent<P, M, S>) => Response
}

interface Definition<P extends RoutePath, M extends MethodOf<P>> {
  /** Absent: the operation takes no body. */
  readonly body?: Check<BodyOf<P, M>>
  readonly gap?: string
  readonly handle: (platform: Platform, call: Call<P, M>) => Response | Promise<Response>
}

export function route<P extends RoutePath, M extends MethodOf<P>>(
  method: M,
  path: P,
  definition: Definition<P, M>,
): Route<`${M} ${P}`> {
  const { body: checkBody, gap, handle } = definition
  return {
    name: `${method} ${path}`,
    method,
    path,
    support: gap === undefined ? { level: 'full' } : { level: 'partial', gap },
    async respond(platform, { url, parameters, request }) {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a definition without a check has no body by the contract
      const body = checkBody === undefined ? (undefined as BodyOf<P, M>) : checkBody(await readJson(request), '')
      return handle(platform, {
        url,
        body,
        parameter: (name) => parameters[name] ?? '',
        query: (name) => url.searchParams.get(name) ?? undefined,
        header: (name) => request.headers.get(name) ?? undefined,
        reply: (status, ...content) => answer(status, content),
      })
    },
  }
}

function answer(
  status: number,
  content: readonly [] | readonly [unknown, Readonly<Record<string, string>>?],
): Response {
  if (content.length === 0) {
    // Without a length an intercepted empty 202 has no end, and clients wait for one.
    return new Response(null, { status, headers: status === 204 ? {} : { 'content-length': '0' } })
  }
  const [body, headers = {}] = content
  return Response.json(body, { status, headers })
}

/** An operation of the contract that is answered 501, by name. */
export function unsupported<P extends RoutePath, M extends MethodOf<P>>(
  method: M,
  path: P,
  reason: string,
): Route<`${M} ${P}`> {
  return {
    name: `${method} ${path}`,
    method,
    path,
    support: { level: 'none', reason },
    async respond() {
      return notEmulated(`${method.toUpperCase()} ${path}`, reason)
    },
  }
}

export function notEmulated(operation: string, reason: string): Response {
  return Response.json({ code: 501, message: `the emulator does not answer ${operation}: ${reason}` }, { status: 501 })
}

/** Bytes of a body that are read at most. */
const BODY_LIMIT = 16 * 1024 * 1024

async function readText(request: Request): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength
    if (size > BODY_LIMIT) throw new ApiError(413, 'request too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

async function readJson(request: Request): Promise<unknown> {
  const text = await readText(request)
  if (text.trim() === '') return {}
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw Object.assign(badRequest('validation error: request body has an error: failed to decode request body'), {
      cause,
    })
  }
}
