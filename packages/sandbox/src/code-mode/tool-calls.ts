import type { CodeModeRpcRequest, CodeModeRpcResponse, CodeModeTransport } from '@mastra/core/tools'

type RunOptions = Parameters<CodeModeTransport['run']>[0]

/** Answers the calls a program makes to tools of the host. */
export class ToolCalls {
  readonly #options: RunOptions
  readonly #allowed: ReadonlySet<string>

  constructor(options: RunOptions) {
    this.#options = options
    this.#allowed = new Set(options.toolIds)
  }

  /**
   * The answer as JSON. Never rejects: a tool that fails is an answer too, and so is one that the program may not call, or
   * whose result has no JSON form.
   */
  async answer({ id, tool, args }: CodeModeRpcRequest): Promise<string> {
    const startedAt = performance.now()
    const { dispatch, onExternalCall, onExternalResult } = this.#options
    const traced = (error?: unknown): void => {
      const durationMs = Math.round(performance.now() - startedAt)
      unharmed(() =>
        error === undefined ? onExternalResult?.(tool, durationMs) : onExternalResult?.(tool, durationMs, error),
      )
    }
    unharmed(() => onExternalCall?.(tool, args))
    try {
      if (!this.#allowed.has(tool)) throw new NotAllowedError(`The tool '${tool}' is not available to the program`)
      const result = await dispatch(tool, args)
      const answer = toJson({ type: 'rpc-result', id, ok: true, result })
      traced()
      return answer
    } catch (error) {
      traced(error)
      const { message, name } = error instanceof Error ? error : new Error(String(error))
      return toJson({ type: 'rpc-result', id, ok: false, error: { message, name } })
    }
  }
}

const toJson = (answer: CodeModeRpcResponse): string => JSON.stringify(answer)

class NotAllowedError extends Error {
  override readonly name = 'NotAllowedError'
}

/** A hook for tracing must not fail what it traces. */
function unharmed(hook: () => void): void {
  try {
    hook()
  } catch {
    // There is nobody to tell: the hook is the observer.
  }
}
