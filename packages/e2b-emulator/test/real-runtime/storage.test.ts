import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createRealRuntime } from '../../src/runtime/real/index.ts'
import { memoryForFiles } from '../../src/runtime/real/memory-budget.ts'
import { describeReal, isRoot, output, run, streamOf } from './support.ts'

const GIBIBYTE = 1024 ** 3

/** What the root of a machine is: `overlay`, `tmpfs`, or the file system of the data directory. */
const rootType = 'stat -f -c %T /'

/** A runtime that lasts as long as the test, and machines of it. */
const start = async (storage: 'overlay' | 'tmpfs' | 'copy', availableMemory = 64 * GIBIBYTE) => {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'warmbox-storage-'))
  const runtime = await createRealRuntime({
    dataDirectory,
    certificateAuthorities: [],
    storage,
    availableMemory: () => availableMemory,
  })
  onTestFinished(async () => {
    await runtime.close()
    // oxlint-disable-next-line vitest/no-standalone-expect -- called by tests alone
    expect(readdirSync(dataDirectory)).toEqual([])
    rmSync(dataDirectory, { recursive: true })
  })
  const machine = async (image?: string) =>
    runtime.createMachine(image ?? (await runtime.baseImage('base')), { id: 'm', hostname: 'box' })
  return { runtime, machine }
}

const hostType = async () => {
  const { machine } = await start('copy')
  return output(await machine(), rootType)
}

describeReal('where files of machines lie', () => {
  test.each(['overlay', 'tmpfs', 'copy'] as const)('%s: images hold everything, step by step', async (storage) => {
    const { runtime, machine } = await start(storage)
    const first = await machine()
    await output(
      first,
      'echo one >file; chmod 000 file; mkfifo pipe; ln -s file link; sudo sh -c "echo two >/usr/local/bin/two; rm /etc/hosts"',
    )
    await first.files.write('/opt/odd name', streamOf('three'), 'root')
    const image = await first.snapshot()
    await output(first, 'rm -f file')
    await first.destroy()
    const second = await machine(image)
    await output(second, 'rm link; mkdir -p /tmp/deep/er; touch "dev proc"')
    const third = await machine(await second.snapshot())
    const looked =
      'stat -c "%n %a %F" file pipe; cat /usr/local/bin/two "/opt/odd name"; ls -d link /etc/hosts /tmp/deep/er "dev proc" 2>/dev/null'
    expect((await run(third, looked)).stdout).toBe(
      'file 0 regular file\npipe 644 fifo\ntwo\nthree/tmp/deep/er\ndev proc\n',
    )
    expect(await output(third, 'cat /etc/hostname; echo x >/dev/null; ls /proc/self/fd >/dev/null; echo fine')).toBe(
      'box\nfine',
    )
    const shown = await runtime.inspectImage(image)
    expect(readFileSync(join(shown?.directory ?? '', 'usr/local/bin/two'), 'utf8')).toBe('two\n')
    await shown?.release()
  })

  test('in memory while half of what is free suffices for the image and some room, and no more than that', async () => {
    const { machine } = await start('tmpfs')
    const box = await machine()
    expect(await output(box, rootType)).toBe('tmpfs')
    const bytes = Number(await output(box, 'df --output=size -B1 / | tail -n 1'))
    expect(bytes).toBeGreaterThan(2 * GIBIBYTE)
    expect(bytes).toBeLessThan(4 * GIBIBYTE)
  })

  test('else on disk, one machine like the other', async () => {
    const { machine } = await start('tmpfs', 4 * GIBIBYTE)
    expect(await output(await machine(), rootType)).toBe(await hostType())
  })

  test.skipIf(!isRoot)('owners survive in memory (skipped: needs root)', async () => {
    const { machine } = await start('tmpfs')
    const first = await machine()
    await output(first, 'useradd -m -u 1234 other; touch /opt/x; chown other:other /opt/x; chmod 4711 /opt/x', {
      user: 'root',
    })
    const second = await machine(await first.snapshot())
    expect(await output(second, 'stat -c "%U %a" /opt/x /home/user /tmp')).toBe('other 4711\nuser 755\nroot 1777')
  })

  test('the runtime says which it is and why', async () => {
    expect((await start('overlay')).runtime.description).toContain('overlay layers')
    expect((await start('tmpfs')).runtime.description).toContain(
      'in memory (tmpfs) while half of what is free suffices',
    )
    expect((await start('copy')).runtime.description).toContain('plain copies of images on disk')
  })
})

test('memory for files: the image and two gibibytes, where that is at most half of what is free', () => {
  expect(memoryForFiles(GIBIBYTE, 6 * GIBIBYTE)).toBe(3 * GIBIBYTE)
  expect(memoryForFiles(GIBIBYTE, 6 * GIBIBYTE - 1)).toBeUndefined()
})
