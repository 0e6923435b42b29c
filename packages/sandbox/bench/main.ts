/**
 * What a command costs through `executeCommand`, compared with the bare SDK's `commands.run` on the same sandbox of the
 * emulator. Prints a table, then one JSON object: `executeCommandRatio`, the median of one over that of the other, and
 * `executeCommandMs`.
 */
import { createEmulator, createScriptedRuntime } from '@warmbox/e2b-emulator'
import { E2BSandbox } from '@warmbox/sandbox'

const ROUNDS = 400
const WARM_UP = 50

const emulator = createEmulator({
  runtime: createScriptedRuntime({ commands: [{ match: 'work', answer: { stdout: 'done\n' } }] }),
})
const server = await emulator.listen()
const sandbox = new E2BSandbox({ ...server.connection, template: 'base' })
const ours: number[] = []
const bare: number[] = []
try {
  await sandbox.start()
  const { e2b } = sandbox
  const viaSandbox = async () => (await sandbox.executeCommand('work')).stdout
  const viaSdk = async () => (await e2b.commands.run('work')).stdout
  // In turns, so that a busy machine slows both alike, and with each first as often as the other.
  for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
    const pair = [
      [viaSandbox, ours],
      [viaSdk, bare],
    ] as const
    for (const [run, times] of round % 2 === 0 ? pair : pair.toReversed()) {
      const elapsed = await measure(run)
      if (round >= WARM_UP) times.push(elapsed)
    }
  }
  await sandbox.destroy()
} finally {
  await server.close()
  await emulator.close()
}
const executeCommandMs = rounded(median(ours))
const executeCommandRatio = rounded(median(ours) / median(bare))
console.log(`${ROUNDS} commands each, in turns`)
console.log(`executeCommand  ${executeCommandMs} ms`)
console.log(`commands.run    ${rounded(median(bare))} ms`)
console.log(`ratio           ${executeCommandRatio}`)
console.log(JSON.stringify({ executeCommandRatio, executeCommandMs }))

async function measure(run: () => Promise<string>): Promise<number> {
  const started = performance.now()
  const stdout = await run()
  const elapsed = performance.now() - started
  if (stdout !== 'done\n') throw new Error(`The command answered ${JSON.stringify(stdout)}`)
  return elapsed
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0
}

function rounded(value: number): number {
  return Number(value.toFixed(3))
}
