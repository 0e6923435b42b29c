import { mkdtemp, readdir, rmdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { probeNamespaces } from '@warmbox/e2b-emulator'
import { expect, test } from 'vitest'

import type { WalkSummary } from '../src/walk.ts'
import { startDemo } from './run-demo.ts'

const WALK_TIMEOUT_MS = 120_000

const RUNGS = [
  ['cold start', 'built', true],
  ['warm start', 'exact', true],
  ['moved head', 'stale', true],
  ['caught up', 'exact', true],
  ['broken setup', 'fallback', true],
  ['after refresh', 'exact', true],
]

const namespaces = await probeNamespaces()
const without = namespaces.available ? '' : ` (skipped: ${namespaces.reason})`

test.skipIf(!namespaces.available)(
  `the walk meets the rung each session should, in a private repository, without a trace of the token${without}`,
  { timeout: WALK_TIMEOUT_MS },
  async () => {
    const { code, stdout, stderr } = await startDemo(['--json']).ended
    expect(code, stderr).toBe(0)
    const summary: WalkSummary = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')
    expect(summary.sessions.map(({ name, rung, ok }) => [name, rung, ok])).toEqual(RUNGS)
    expect(summary.tokenLeaks).toBe(0)
    expect(summary.refreshes.map(({ action }) => action)).toEqual(['reused', 'built'])
    const [cold, warm, moved, caughtUp, broken, refreshed] = summary.sessions.map(({ sha }) => sha)
    expect(warm).toBe(cold)
    expect(moved).not.toBe(cold)
    expect([caughtUp, broken]).toEqual([moved, moved])
    expect(refreshed).toBe(summary.refreshes[1]?.sha)
    expect(stderr).toContain('set up for')
  },
)

test(
  'without processes the walk meets the same rungs, and its first line says that nothing ran',
  { timeout: WALK_TIMEOUT_MS },
  async () => {
    const { code, stdout, stderr } = await startDemo(['--json', '--scripted']).ended
    expect(code, stderr).toBe(0)
    expect(stderr.split('\n')[0]).toMatch(/^No command runs in this walk/)
    const summary: WalkSummary = JSON.parse(stdout)
    expect(summary.sessions.map(({ name, rung, ok }) => [name, rung, ok])).toEqual(RUNGS)
  },
)

test(
  'interrupted in the middle of a build it ends with 130 and leaves no directory',
  { timeout: WALK_TIMEOUT_MS },
  async () => {
    const temporary = await mkdtemp(join(tmpdir(), 'warmbox-demo-test-'))
    const run = startDemo(['--json'], { TMPDIR: temporary })
    await run.seen('build of ')
    run.child.kill('SIGINT')
    const { code, stderr } = await run.ended
    expect(code, stderr).toBe(130)
    expect(stderr.trimEnd().split('\n').at(-1)).toBe('Stopped; everything that was started is gone.')
    expect(await readdir(temporary)).toEqual([])
    await rmdir(temporary)
  },
)

test('a repository that is none is refused with what to do instead', { timeout: WALK_TIMEOUT_MS }, async () => {
  const { code, stderr } = await startDemo(['--repo', tmpdir()]).ended
  expect(code).toBe(1)
  expect(stderr).toContain('give another by --repo')
  expect(stderr).not.toContain('    at ')
})
