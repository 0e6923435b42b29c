import { cutOnAbort, unlessAborted } from '../abort.ts'
import { systemClock, type Clock } from '../clock.ts'
import { refusal } from './http/access.ts'
import { errorAnswer, sandboxNotFoundAnswer } from './http/answers.ts'
import { answerHttp } from './http/routes.ts'
import { createRpcRouter } from './rpc/router.ts'
import type { SandboxForEnvd } from './sandbox.ts'
import { EnvdSession } from './session.ts'

/** What {@link createEnvd} needs from the platform around it. */
interface EnvdOptions {
  /** The running sandbox of that id; undefined where there is none. */
  machineOf(sandboxId: string): SandboxForEnvd | undefined
  /** Times keepalives, kills by timeout and the expiry of signatures. Default: the clock of this machine. */
  readonly clock?: Clock
}

/** The daemon inside every sandbox, for all of them at once. */
export interface Envd {
  /**
   * Answers a request to port 49983 of the sandbox; 502 as the platform's proxy gives it where none runs. Never rejects.
   * A client that leaves should abort `request.signal` or cancel the body: its streams end, its processes go on.
   */
  handle(request: Request, sandboxId: string): Promise<Response>
  /** The sandbox was killed: its open streams break off, and its processes and watchers are forgotten. */
  forget(sandboxId: string): void
}

/** Serves processes and files of the machines the platform names. Holds nothing until the first request. */
export function createEnvd(options: EnvdOptions): Envd {
  const clock = options.clock ?? systemClock
  const callRpc = createRpcRouter()
  const sessions = new Map<string, EnvdSession>()
  // A request that nothing refers to is collected, and its signal then never tells that the client left.
  const inFlight = new Set<Request>()

  const sessionFor = (sandboxId: string): EnvdSession | undefined => {
    const sandbox = options.machineOf(sandboxId)
    if (sandbox === undefined) return undefined
    const known = sessions.get(sandboxId)
    if (known?.sandbox.machine === sandbox.machine) {
      known.sandbox = sandbox
      return known
    }
    known?.end()
    const session = new EnvdSession(sandbox, clock)
    sessions.set(sandboxId, session)
    return session
  }

  const answer = async (request: Request, session: EnvdSession): Promise<Response> => {
    const refused = refusal(request, session.sandbox)
    if (refused !== undefined) return errorAnswer(401, refused)
    const over = new AbortController()
    const brokenOff = AbortSignal.any([request.signal, session.gone])
    const finish = () => {
      inFlight.delete(request)
      over.abort()
    }
    inFlight.add(request)
    try {
      const signal = AbortSignal.any([brokenOff, over.signal])
      const answering = callRpc(request, session, signal) ?? answerHttp(request, session)
      return cutOnAbort(await unlessAborted(answering, brokenOff), brokenOff, finish)
    } catch (error) {
      finish()
      throw error
    }
  }

  return {
    async handle(request, sandboxId) {
      const session = sessionFor(sandboxId)
      if (session === undefined) return sandboxNotFoundAnswer(sandboxId)
      try {
        return await answer(request, session)
      } catch (error) {
        if (session.gone.aborted) return sandboxNotFoundAnswer(sandboxId)
        return errorAnswer(500, error instanceof Error ? error.message : String(error))
      }
    },
    forget(sandboxId) {
      sessions.get(sandboxId)?.end()
      sessions.delete(sandboxId)
    },
  }
}
