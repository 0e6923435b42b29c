import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { toolEnvironment } from '../real/commands.ts'
import type { Janitor } from '../real/janitor.ts'
import { endMarked, findMarked, type Mark } from '../real/agent/marked.ts'

/** How long processes may take to end before their files are removed all the same. */
const patienceMs = 10_000

/**
 * A small shell that waits for the emulator to end, in whatever way, and then becomes a program that kills what is marked
 * and removes the directory. In this order: a process that goes on would write the files anew.
 */
export function startJanitor(mark: Mark): Janitor {
  const script = `trap '' INT TERM HUP; read -r _; exec "$@"`
  const directory = JSON.stringify(mark.directory)
  const program = `
const fs = require('node:fs')
const { spawnSync } = require('node:child_process')
const __name = (value) => value
const find = ${String(findMarked)}
void (${String(endMarked)})(find, ${JSON.stringify(mark)}, ${patienceMs}).then(() => {
  spawnSync('chmod', ['-R', 'u+rwX', '--', ${directory}], { stdio: 'ignore' })
  fs.rmSync(${directory}, { recursive: true, force: true, maxRetries: 10 })
})`
  const child = spawn('sh', ['-c', script, 'janitor', process.execPath, '--input-type=commonjs', '-e', program], {
    cwd: '/',
    env: toolEnvironment,
    // A session of its own: an interrupt from the terminal must not take it before its work.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  child.unref()
  // It is waiting for exactly this pipe to break; there is nothing to write.
  child.stdin.on('error', () => undefined)
  const exited = once(child, 'exit')
  return {
    async dismiss() {
      child.ref()
      child.stdin.end()
      await exited
    },
  }
}
