import { expect, test } from 'vitest'
import { createEmulator } from '@warmbox/e2b-emulator'
import { assertUnsafeHostAllowed } from '../../src/runtime/unsafe-host/refusal.ts'
import { startCommandLine } from '../support/command-line.ts'
import { isRoot } from '../real-runtime/support.ts'

test('root is refused, with a hint, before anything is made', () => {
  expect(() => assertUnsafeHostAllowed(0)).toThrow(
    expect.objectContaining({ code: 'UNSAFE_AS_ROOT', hint: expect.stringContaining('without privileges') }),
  )
})

test.skipIf(!isRoot)('an emulator of root refuses it, and so does the command line (skipped: needs root)', async () => {
  const emulator = createEmulator({ runtime: 'unsafe-host' })
  await expect(emulator.ready()).rejects.toMatchObject({ code: 'UNSAFE_AS_ROOT' })
  await emulator.close()
  const { written, ended } = await startCommandLine('--unsafe-host')
  expect(await ended).toEqual([1, null])
  expect(written.stderr).toContain('does not run as root')
  // What helps is said in words that fit options and arguments alike.
  expect(written.stderr).toContain('use the runtime "real"')
})

test('it has a flag of its own: no value of --runtime names it, and none goes with it', async () => {
  const named = await startCommandLine('--runtime', 'unsafe-host')
  expect(await named.ended).toEqual([2, null])
  const both = await startCommandLine('--runtime', 'auto', '--unsafe-host')
  expect(await both.ended).toEqual([2, null])
  expect(both.written.stderr).toContain('leave out --runtime')
})
