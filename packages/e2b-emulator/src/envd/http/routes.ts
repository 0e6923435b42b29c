import type { EnvdSession } from '../session.ts'
import { sandboxEnvironment } from '../sandbox.ts'
import { errorAnswer, jsonAnswer } from './answers.ts'
import { compose } from './compose.ts'
import { download } from './download.ts'
import { metrics } from './metrics.ts'
import { upload } from './upload.ts'

type Route = (request: Request, session: EnvdSession) => Response | Promise<Response>

/** The routes of envd that are no remote calls. */
export const httpRoutes: ReadonlyMap<string, Route> = new Map<string, Route>([
  ['GET /health', () => new Response(null, { status: 204 })],
  [
    'GET /metrics',
    async (_request, session) =>
      session.can('metrics')
        ? jsonAnswer(200, await metrics(session), { 'cache-control': 'no-store' })
        : errorAnswer(404, 'not found'),
  ],
  [
    'GET /envs',
    (_request, session) => jsonAnswer(200, sandboxEnvironment(session.sandbox), { 'cache-control': 'no-store' }),
  ],
  ['GET /files', download],
  ['POST /files', upload],
  ['POST /files/compose', compose],
])

/** Routes the platform keeps to itself; its proxy lets nobody through to them. */
const internalPaths: ReadonlySet<string> = new Set([
  '/init',
  '/freeze',
  '/unfreeze',
  '/fsfreeze',
  '/fsthaw',
  '/upgrade',
])

/** Answers what is no remote call; a path that is not emulated says so. */
export async function answerHttp(request: Request, session: EnvdSession): Promise<Response> {
  const { pathname } = new URL(request.url)
  if (internalPaths.has(pathname)) {
    return jsonAnswer(404, { message: 'path not found', path: pathname, code: 404 })
  }
  const route = httpRoutes.get(`${request.method} ${pathname}`)
  if (route !== undefined) return route(request, session)
  const allowed = [...httpRoutes.keys()].map((key) => key.split(' ')).filter(([, path]) => path === pathname)
  if (allowed.length > 0) {
    return errorAnswer(405, 'method not allowed', { allow: allowed.map(([method]) => method).join(', ') })
  }
  return errorAnswer(501, `not emulated: ${request.method} ${pathname} of envd`)
}
