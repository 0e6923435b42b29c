/**
 * Runs everything and prints what came of it; with `--json` one line of figures. Exits 1 where a promise is broken.
 *
 *     pnpm soak [--json] [--starts 5000] [--seed 1]
 */
import { parseArgs } from 'node:util'
import { runSoak } from './soak.ts'

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    starts: { type: 'string', default: '5000' },
    seed: { type: 'string', default: '1' },
  },
})
const starts = Number(values.starts)
const seed = Number(values.seed)
if (!Number.isInteger(starts) || starts < 1)
  throw new Error(`--starts must be a number of starts, not ${values.starts}`)
if (!Number.isInteger(seed)) throw new Error(`--seed must be a whole number, not ${values.seed}`)

const { broken, figures } = await runSoak({ starts, seed, say: (line) => console.error(line) })
if (values.json) console.log(JSON.stringify(figures))
else for (const [name, value] of Object.entries(figures)) console.log(`${name.padEnd(26)} ${value}`)
for (const promise of broken) console.error(`broken: ${promise}`)
process.exitCode = broken.length === 0 ? 0 : 1
