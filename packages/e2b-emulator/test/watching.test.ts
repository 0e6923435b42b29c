import { Sandbox } from 'e2b'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createEmulator, type Emulator } from '@warmbox/e2b-emulator'
import { runtimes } from './support/runtimes.ts'

for (const kind of runtimes) {
  describe.skipIf(kind.unavailable)(`a watch: ${kind.title}`, { timeout: 180_000 }, () => {
    let emulator: Emulator
    let sandbox: Sandbox

    beforeAll(async () => {
      emulator = createEmulator({ runtime: kind.runtime })
      sandbox = await Sandbox.create('base', (await emulator.listen()).connection)
    }, 180_000)

    afterAll(() => emulator.close())

    /** Without the change of owner that follows when something is made: where one account stands for all there is none. */
    const told = async (name: string, recursive: boolean, change: () => Promise<unknown>) => {
      await sandbox.files.makeDir(`${name}/old`)
      await sandbox.files.write([
        { path: `${name}/kept`, data: 'before' },
        { path: `${name}/old/leaf`, data: '' },
      ])
      const events: string[] = []
      const watch = await sandbox.files.watchDir(name, (event) => void events.push(`${event.type} ${event.name}`), {
        recursive,
      })
      await change()
      await sandbox.files.write(`${name}/last`, '')
      await expect.poll(() => events).toContain('create last')
      await watch.stop()
      return (
        events
          .filter((event) => !event.startsWith('chmod ') && event !== 'create last')
          // The kernel makes one of equal notices in a row that nobody has fetched yet.
          .filter((event, index, all) => event !== all[index - 1])
      )
    }

    test.each([true, false])(
      'tells that a file was made and filled, and when it is written again, recursive: %s [D34]',
      async (recursive) => {
        const directory = `written-${recursive}`
        const events = await told(directory, recursive, async () => {
          await sandbox.files.write(`${directory}/new`, 'content')
          await sandbox.files.write(`${directory}/empty`, '')
          await sandbox.files.write(`${directory}/empty`, 'same')
          await sandbox.files.write(`${directory}/empty`, 'size')
        })
        expect(events).toEqual(['create new', 'write new', 'create empty', 'write empty'])
      },
    )

    test('tells moves as rename of the old name and create of the new, whatever was there [D34]', async () => {
      const events = await told('moved', true, async () => {
        await sandbox.files.rename('moved/kept', 'moved/old/kept')
        await sandbox.files.rename('moved/old/kept', 'moved/old/leaf')
        await sandbox.files.rename('moved/old', 'out')
        await sandbox.files.rename('out', 'moved/back')
      })
      expect(events).toEqual([
        'rename kept',
        'create old/kept',
        'rename old/kept',
        'create old/leaf',
        'rename old',
        'create back',
        'create back/leaf',
      ])
    })

    test('tells what is removed with a directory, and its own removal [D34]', async () => {
      const events = await told('removed', true, async () => {
        await sandbox.files.remove('removed/old')
        await sandbox.files.makeDir('removed/new/deep')
        await sandbox.files.remove('removed/new')
      })
      expect(events.filter((event) => event.startsWith('remove '))).toEqual([
        'remove old/leaf',
        'remove old',
        'remove new/deep',
        'remove new',
      ])
    })
  })
}
