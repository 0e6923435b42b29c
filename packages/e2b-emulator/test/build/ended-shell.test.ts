import { Sandbox, Template } from 'e2b'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createEmulator, probeNamespaces } from '@warmbox/e2b-emulator'
import { eventually } from '../support/emulator.ts'

const namespaces = await probeNamespaces()
const where = namespaces.available ? '' : ` (skipped: ${namespaces.reason})`

/** The shell is over at once; what it left behind holds its output for longer than any test. */
const LEAVES_A_PROCESS = 'nohup sleep 500 & echo started'

async function start() {
  const emulator = createEmulator({ runtime: 'real' })
  onTestFinished(() => emulator.close())
  return { emulator, connection: (await emulator.listen()).connection }
}

describe.skipIf(!namespaces.available)(`a process that outlives its shell${where}`, { timeout: 180_000 }, () => {
  test('does not keep the end of the emulator waiting for its build', async () => {
    const { emulator, connection } = await start()
    const template = Template().fromImage('node:24').runCmd(LEAVES_A_PROCESS)
    // Nobody may learn the outcome: the server closes under the client.
    const building = Promise.allSettled([Template.build(template, 'left', connection)])
    const isStarted = () =>
      emulator.control.builds().some(({ logs }) => logs.some(({ message }) => message.includes('[stdout]: started')))
    await eventually(() => isStarted() || undefined)
    await emulator.close()
    expect(emulator.control.builds()).toContainEqual(
      expect.objectContaining({ status: 'error', reason: { message: 'build was cancelled', step: undefined } }),
    )
    await building
  })

  test('ends with its sandbox, and with the emulator', async () => {
    const { emulator, connection } = await start()
    const sandbox = await Sandbox.create('base', connection)
    let seen = ''
    const command = await sandbox.commands.run(LEAVES_A_PROCESS, {
      background: true,
      onStdout: (text) => void (seen += text),
    })
    const waiting = Promise.allSettled([command.wait()])
    await eventually(() => seen.includes('started') || undefined)
    await expect(sandbox.kill()).resolves.toBe(true)
    await expect(waiting).resolves.toMatchObject([{ status: 'rejected' }])
    await emulator.close()
  })
})
