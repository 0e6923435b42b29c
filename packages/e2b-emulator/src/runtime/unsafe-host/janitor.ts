import { startJanitor, type Janitor } from '../janitor.ts'
import { endMarked, findMarked, type Mark } from '../real/agent/marked.ts'

/** How long processes may take to end before their files are removed all the same. */
const patienceMs = 10_000

/**
 * A small shell that waits for the emulator to end, in whatever way, and then becomes a program that kills what is marked
 * and removes the directory. In this order: a process that goes on would write the files anew.
 */
export function startKillerAndRemoval(mark: Mark): Janitor {
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
  return startJanitor(['sh', '-c', script, 'janitor', process.execPath, '--input-type=commonjs', '-e', program])
}
