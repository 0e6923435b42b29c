/**
 * How much the identity costs beside the hash it cannot do without. Prints a table, then one JSON object:
 * `identityRefsPerSecond`, and `identityHashRatio`, refs per second over hashes per second of the same canonical bytes
 * with the same hash function.
 */
import { hash as sha256 } from '@stablelib/sha256'
import { canonicalText, type RepoTemplateIdentity, repoTemplateRef } from '@warmbox/identity'

/** `pnpm-monorepo`: a private repository with two setup commands, a registry token and a resized machine. */
const pnpmMonorepo: RepoTemplateIdentity = {
  cloneUrl: 'https://github.com/acme/widgets.git',
  sha: '3f786850e387550fdab836ed7e6dc881de23001b',
  setupCommand: ['corepack enable && pnpm install --frozen-lockfile', 'pnpm --filter "./packages/*" run build'],
  buildEnv: {
    NODE_OPTIONS: '--max-old-space-size=4096',
    NPM_TOKEN: { value: 'a-token-that-rotates-every-hour', version: '2026-11' },
  },
  cpuCount: 4,
  memoryMB: 4096,
  salt: 'tenant-7f3a',
  extra: { 'pnpm-lock.yaml': 'b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9' },
}

const ROUNDS = 15
const ROUND_MS = 60

const text = canonicalText(pnpmMonorepo)
const bytes = new TextEncoder().encode(text)
if (bytes.length < 400) throw new Error(`The input has ${bytes.length} canonical bytes, fewer than 400`)

// The rounds alternate, so that a busy machine slows both alike; the median drops the rounds it disturbed.
const refRates: number[] = []
const hashRates: number[] = []
let consumed = 0
for (let round = 0; round < ROUNDS; round += 1) {
  refRates.push(rate(() => repoTemplateRef(pnpmMonorepo).length))
  hashRates.push(rate(() => sha256(bytes).length))
}
const refsPerSecond = median(refRates)
const ratio = median(refRates.map((refs, round) => refs / (hashRates[round] ?? Number.NaN)))
console.log(`pnpm-monorepo: ${bytes.length} canonical bytes, ${consumed > 0 ? ROUNDS : 0} rounds of ${ROUND_MS} ms`)
console.log(`refs per second   ${Math.round(refsPerSecond)}`)
console.log(`hashes per second ${Math.round(median(hashRates))}`)
console.log(
  JSON.stringify({ identityRefsPerSecond: Math.round(refsPerSecond), identityHashRatio: Number(ratio.toFixed(3)) }),
)

function rate(work: () => number): number {
  const start = performance.now()
  let count = 0
  let elapsed = 0
  while (elapsed < ROUND_MS) {
    for (let repeat = 0; repeat < 200; repeat += 1) consumed += work()
    count += 200
    elapsed = performance.now() - start
  }
  return (count * 1000) / elapsed
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN
}
