import { expect, test } from 'vitest'
import { describeReal, output, useRuntime } from './support.ts'

describeReal('what a machine takes of its host', () => {
  const bench = useRuntime()

  test('grows with the processor time of commands, also of those that ended', async () => {
    const machine = await bench().machine()
    const before = await machine.usage()
    // Measures itself, so that a busy host makes the test slower and not wrong.
    await output(machine, `node -e 'while (process.cpuUsage().user < 1e6);'`)
    const after = await machine.usage()
    expect((after?.cpuTimeMs ?? 0) - (before?.cpuTimeMs ?? 0)).toBeGreaterThan(900)
  })

  test('counts the memory of what runs, until it ends', async () => {
    const machine = await bench().machine()
    const memory = async () => (await machine.usage())?.memoryBytes ?? 0
    const idle = await memory()
    const holder = await machine.spawn({
      command: 'node',
      args: ['-e', 'globalThis.held = Buffer.alloc(100e6, 1); console.log("held"); setInterval(() => {}, 1e6)'],
      user: 'user',
      env: {},
      stdin: false,
    })
    await new Promise<void>((resolve) => void holder.onOutput(() => resolve()))
    expect((await memory()) - idle).toBeGreaterThan(100e6)
    await holder.signal('SIGKILL')
    await holder.exit
    await expect.poll(async () => (await memory()) - idle).toBeLessThan(50e6)
  })

  test('shows the disk as df inside does', async () => {
    const machine = await bench().machine()
    const size = (await output(machine, 'df -B1 --output=size /')).split('\n')[1]
    expect((await machine.usage())?.disk.totalBytes).toBe(Number(size))
  })

  test('is not measured after the end', async () => {
    const machine = await bench().machine()
    await machine.destroy()
    await expect(machine.usage()).rejects.toMatchObject({ code: 'gone' })
  })
})
