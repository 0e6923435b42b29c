import { expect, test } from 'vitest'
import { createProtocol } from '../../src/runtime/real/agent/protocol.ts'

test('input that was taken whole counts as taken, though its reader ended in the same moment', async () => {
  const window = createProtocol().createWindow()
  await window.reserve(10)
  const taken = window.drained()
  window.release(10)
  window.close()
  expect(await taken).toBe(true)
})

test('input that was on its way when its reader ended counts as lost', async () => {
  const window = createProtocol().createWindow()
  await window.reserve(10)
  await window.reserve(5)
  const taken = window.drained()
  window.release(10)
  window.close()
  expect(await taken).toBe(false)
})
