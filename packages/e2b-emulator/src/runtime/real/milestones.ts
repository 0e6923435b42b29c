import type { Readable } from 'node:stream'

/** Lines a process prints to say how far it is. */
export interface Milestones {
  /** True once the line was printed; false where the output ended without it. */
  reached(line: string): Promise<boolean>
}

/** Reads `output` from now on. */
export function createMilestones(output: Readable): Milestones {
  const passed = new Set<string>()
  let pending = ''
  const state = { over: false }
  let wake: (() => void)[] = []
  const next = () => new Promise<void>((resolve) => wake.push(resolve))
  const changed = () => {
    const waiting = wake
    wake = []
    for (const resolve of waiting) resolve()
  }
  output.on('data', (chunk: Buffer) => {
    const lines = (pending + chunk.toString()).split('\n')
    pending = lines.pop() ?? ''
    for (const line of lines) passed.add(line)
    changed()
  })
  const end = () => {
    state.over = true
    changed()
  }
  output.once('close', end)
  output.once('error', end)
  return {
    async reached(line) {
      while (!passed.has(line) && !state.over) await next()
      return passed.has(line)
    },
  }
}
