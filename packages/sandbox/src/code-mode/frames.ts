import { type CodeModeRunnerFrame, FRAME_PREFIX } from '@mastra/core/tools'

/**
 * Takes the output of a runner apart: a line that begins with Mastra's prefix is a frame, every other one is what the
 * program printed past it, and is dropped.
 */
export class FrameReader {
  readonly #onFrame: (frame: CodeModeRunnerFrame) => void
  #rest = ''

  constructor(onFrame: (frame: CodeModeRunnerFrame) => void) {
    this.#onFrame = onFrame
  }

  read(chunk: string): void {
    const lines = (this.#rest + chunk).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const line of lines) {
      if (!line.startsWith(FRAME_PREFIX)) continue
      const frame = parse(line.slice(FRAME_PREFIX.length))
      if (frame !== undefined) this.#onFrame(frame)
    }
  }
}

function parse(json: string): CodeModeRunnerFrame | undefined {
  let frame: unknown
  try {
    frame = JSON.parse(json)
  } catch {
    // The program wrote the prefix itself; what follows it is not ours.
    return undefined
  }
  return isFrame(frame) ? frame : undefined
}

function isFrame(frame: unknown): frame is CodeModeRunnerFrame {
  if (typeof frame !== 'object' || frame === null || !('type' in frame)) return false
  switch (frame.type) {
    case 'log':
      return 'message' in frame && typeof frame.message === 'string'
    case 'rpc':
      return 'id' in frame && typeof frame.id === 'number' && 'tool' in frame && typeof frame.tool === 'string'
    case 'done':
      return 'ok' in frame && typeof frame.ok === 'boolean'
    default:
      return false
  }
}
