import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import type { Machine, Runtime } from '../../src/runtime/port.ts'
import { createRealRuntime } from '../../src/runtime/real/index.ts'
import { hostProcesses, processesOf, threadStates, userNamespaceOf } from '../support/host-processes.ts'
import { describeReal, eventually, output } from './support.ts'

/** A runtime and what it has on the host; removed with the test. */
async function start() {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'warmbox-standby-'))
  const runtime = await createRealRuntime({ dataDirectory, certificateAuthorities: [] })
  onTestFinished(async () => {
    await runtime.close()
    rmSync(dataDirectory, { recursive: true, force: true })
  })
  const [own = ''] = readdirSync(dataDirectory)
  const names = (kind: string) => readdirSync(join(dataDirectory, own)).filter((name) => name.startsWith(kind))
  /** Machines, spares among them, that were mounted over a layer. */
  const machinesOver = (layer: string) =>
    names('m').filter((name) => readFileSync(join(dataDirectory, own, name, 'fstab'), 'utf8').includes(`${layer}/`))
  return { runtime, machines: () => names('m'), layers: () => names('l'), machinesOver }
}

let count = 0
const create = (runtime: Runtime, image: string, hostname = 'e2b'): Promise<Machine> =>
  runtime.createMachine(image, { id: `m${count++}`, hostname })

/** Programs of machines, spares among them, that run beside `machine`. */
async function programsBeside(machine: Machine): Promise<number[]> {
  const seconds = `${200_000 + process.pid}.${count++}`
  const marker = await machine.spawn({ command: 'sleep', args: [seconds], user: 'root', env: {}, stdin: false })
  const [pid = 0] = hostProcesses(seconds)
  const programs = new Set(hostProcesses('warmbox-machine\0'))
  const found = processesOf(userNamespaceOf(pid)).filter((id) => programs.has(id))
  await marker.signal('SIGKILL')
  await marker.exit
  return found
}

/** It has started and waits for work: it takes this name when it starts, and has answered by the time it waits. */
const waits = (pid: number): boolean =>
  readFileSync(`/proc/${pid}/comm`, 'utf8') === 'warmbox-machine\n' && threadStates(pid)[0] === 'S'

describeReal('machines kept ready', () => {
  test('a machine that was kept ready is as new as any other', async () => {
    const { runtime, machines } = await start()
    const image = await runtime.baseImage('base')
    const first = await create(runtime, image)
    await output(first, 'echo mine >file')
    await eventually(() => machines().length, 2)
    const [second, third] = await Promise.all([create(runtime, image), create(runtime, image)])
    for (const machine of [second, third]) {
      expect(await output(machine, 'ls; hostname; cat /etc/hostname; echo own >file; cat file')).toBe('e2b\ne2b\nown')
    }
    expect(await output(first, 'cat file')).toBe('mine')
  })

  test('another hostname and another image get a machine of their own', async () => {
    const { runtime, machines } = await start()
    const image = await runtime.baseImage('base')
    const first = await create(runtime, image)
    await output(first, 'echo kept >file')
    const child = await first.snapshot()
    await eventually(() => machines().length, 2)
    expect(await output(await create(runtime, image, 'other'), 'hostname; ls')).toBe('other')
    expect(await output(await create(runtime, child), 'hostname; cat file')).toBe('e2b\nkept')
  })

  test('nothing runs before the first machine, and two spares at most after it', async () => {
    const { runtime, machines } = await start()
    expect(machines()).toEqual([])
    const image = await runtime.baseImage('base')
    const first = await create(runtime, image)
    await eventually(async () => (await programsBeside(first)).length, 3)
    const others = await Promise.all([create(runtime, image), create(runtime, image), create(runtime, image)])
    await eventually(async () => (await programsBeside(first)).length, 6)
    await Promise.all(others.map((machine) => machine.destroy()))
    await eventually(async () => (await programsBeside(first)).length, 3)
  })

  test('spares whose processes were ended are replaced', async () => {
    const { runtime } = await start()
    const image = await runtime.baseImage('base')
    const first = await create(runtime, image)
    const [own = 0] = await programsBeside(first)
    await eventually(async () => (await programsBeside(first)).length, 3)
    const spares = (await programsBeside(first)).filter((pid) => pid !== own)
    await eventually(() => spares.map(waits), [true, true])
    // A turn in which the answers are read.
    await setImmediate()
    for (const pid of spares) process.kill(pid, 'SIGKILL')
    // At once, before anything of their end can have been noticed.
    const [second, third] = await Promise.all([create(runtime, image), create(runtime, image, 'other')])
    expect(await output(second, 'echo works')).toBe('works')
    expect(await output(third, 'echo works')).toBe('works')
  })

  test('the spare of a deleted image goes, and its layer with it', async () => {
    const { runtime, layers, machinesOver } = await start()
    const first = await create(runtime, await runtime.baseImage('base'))
    const image = await first.snapshot()
    const second = await create(runtime, image)
    const [layer = ''] = layers()
    await eventually(() => machinesOver(layer).length, 2)
    await second.destroy()
    await runtime.deleteImage(image)
    await eventually(() => [machinesOver(layer), layers()], [[], []])
    await expect(create(runtime, image)).rejects.toMatchObject({ code: 'not-found' })
  })
})
