import { FileNotFoundError, FileType, InvalidArgumentError, type FilesystemEvent } from 'e2b'
import { describe, expect, test, vi } from 'vitest'
import { createManualClock } from '../../src/clock.ts'
import { EventType, FileType as WireType } from '../../src/envd/generated/filesystem/filesystem_pb.ts'
import { linkArchive } from '../support/link-archive.ts'
import { eventually } from './support/eventually.ts'
import { startEnvd } from './support/harness.ts'

describe('files of the SDK', () => {
  test('what was written is read back, as text and as bytes [D26]', async () => {
    const { sandbox } = await startEnvd()
    await expect(sandbox.files.write('notes/today.txt', 'grüße')).resolves.toMatchObject({
      name: 'today.txt',
      path: '/home/user/notes/today.txt',
      type: 'file',
    })
    await expect(sandbox.files.read('/home/user/notes/today.txt')).resolves.toBe('grüße')
    await expect(sandbox.files.read('~/notes/today.txt', { format: 'bytes' })).resolves.toEqual(
      new TextEncoder().encode('grüße'),
    )
  })

  test('an entry says who owns it, and how large it is', async () => {
    const { sandbox } = await startEnvd()
    await sandbox.files.write('/srv/deep/file', 'abc', { user: 'root' })
    await expect(sandbox.files.getInfo('/srv/deep/file')).resolves.toMatchObject({
      name: 'file',
      path: '/srv/deep/file',
      type: FileType.FILE,
      size: 3,
      mode: 0o644,
      permissions: '-rw-r--r--',
      owner: 'root',
      group: 'root',
      modifiedTime: expect.any(Date),
    })
    await expect(sandbox.files.getInfo('/tmp')).resolves.toMatchObject({
      type: FileType.DIR,
      mode: 0o777,
      permissions: 'dtrwxrwxrwx',
    })
  })

  test('a listing goes as deep as asked, one level unless told otherwise [D31]', async () => {
    const { sandbox } = await startEnvd()
    await sandbox.files.write([
      { path: '/data/a', data: '1' },
      { path: '/data/b/c', data: '2' },
    ])
    const paths = async (depth?: number) =>
      (await sandbox.files.list('/data', depth === undefined ? {} : { depth })).map(({ path }) => path)
    expect(await paths()).toEqual(['/data/a', '/data/b'])
    expect(await paths(2)).toEqual(['/data/a', '/data/b', '/data/b/c'])
  })

  test('on the wire a listing has entries without a type too: links that lead nowhere [D45]', async () => {
    const { filesystem, machine } = await startEnvd()
    await machine.files.unpack(linkArchive('data/loop', 'loop'), '/', { owner: 'user' })
    const { entries } = await filesystem().listDir({ path: '/data' })
    expect(entries).toMatchObject([
      { name: 'loop', path: '/data/loop', type: WireType.UNSPECIFIED, symlinkTarget: '/data/loop' },
    ])
  })

  test('what cannot be listed says why', async () => {
    const { sandbox } = await startEnvd()
    await sandbox.files.write('/data/file', '')
    await expect(sandbox.files.list('/nowhere')).rejects.toBeInstanceOf(FileNotFoundError)
    await expect(sandbox.files.list('/data/file')).rejects.toBeInstanceOf(InvalidArgumentError)
  })

  test('a directory is made once, with its parents, for the user [D32]', async () => {
    const { sandbox } = await startEnvd()
    await expect(sandbox.files.makeDir('a/b/c')).resolves.toBe(true)
    await expect(sandbox.files.makeDir('a/b/c')).resolves.toBe(false)
    await expect(sandbox.files.getInfo('/home/user/a/b')).resolves.toMatchObject({ owner: 'user' })
  })

  test('a directory cannot be made where a file is [D32]', async () => {
    const { sandbox } = await startEnvd()
    await sandbox.files.write('taken', '')
    await expect(sandbox.files.makeDir('taken')).rejects.toBeInstanceOf(InvalidArgumentError)
  })

  test.each(['/', '/etc', '/usr', '/proc', '/dev'])(
    'what the machine needs cannot be removed: %s [D46]',
    async (path) => {
      const { sandbox } = await startEnvd()
      await sandbox.files.write('kept', 'content')
      const before = await sandbox.files.list('/', { depth: 9 })
      await expect(sandbox.files.remove(path)).rejects.toThrow(`unlinkat ${path}: device or resource busy`)
      await expect(sandbox.files.list('/', { depth: 9 })).resolves.toEqual(before)
    },
  )

  test('a rename makes the parents of its target [D33]', async () => {
    const { sandbox } = await startEnvd()
    await sandbox.files.write('old', 'content')
    await expect(sandbox.files.rename('old', 'new/place')).resolves.toMatchObject({ path: '/home/user/new/place' })
    await expect(sandbox.files.exists('old')).resolves.toBe(false)
    await expect(sandbox.files.read('new/place')).resolves.toBe('content')
    await expect(sandbox.files.getInfo('new')).resolves.toMatchObject({ owner: 'user' })
  })

  test('renaming what is not there fails, after the parents of its target were made [D33]', async () => {
    const { sandbox } = await startEnvd()
    await expect(sandbox.files.rename('missing', 'new/place')).rejects.toBeInstanceOf(FileNotFoundError)
    await expect(sandbox.files.list('new')).resolves.toEqual([])
  })

  test('removing takes everything below, and succeeds where nothing is [D33]', async () => {
    const { sandbox } = await startEnvd()
    await sandbox.files.write('tree/leaf', '')
    await sandbox.files.remove('tree')
    await expect(sandbox.files.exists('tree/leaf')).resolves.toBe(false)
    await expect(sandbox.files.remove('tree')).resolves.toBeUndefined()
  })

  test("another user's home is not expanded", async () => {
    const { sandbox } = await startEnvd()
    await expect(sandbox.files.exists('~root/file')).rejects.toBeInstanceOf(InvalidArgumentError)
    await expect(sandbox.files.read('~root/file')).rejects.toBeInstanceOf(InvalidArgumentError)
  })
})

describe('watching', () => {
  test('changes below a directory are told, with their entries where asked [D34]', async () => {
    const { sandbox } = await startEnvd()
    await sandbox.files.makeDir('/data/sub')
    const events: FilesystemEvent[] = []
    const handle = await sandbox.files.watchDir('/data', (event) => void events.push(event), {
      recursive: true,
      includeEntry: true,
    })
    await sandbox.files.write('/data/sub/file', 'x')
    await sandbox.files.remove('/data/sub/file')
    await eventually(() =>
      expect(events.map(({ name, type }) => `${type} ${name}`)).toEqual([
        'create sub/file',
        'chmod sub/file',
        'write sub/file',
        'remove sub/file',
      ]),
    )
    expect(events.at(-1)?.entry).toBeUndefined()
    await handle.stop()
  })

  test('a watch that is not recursive stays in its directory [D34]', async () => {
    const { sandbox } = await startEnvd()
    await sandbox.files.makeDir('/data/sub')
    const names: string[] = []
    const handle = await sandbox.files.watchDir('/data', ({ name }) => void names.push(name))
    await sandbox.files.write('/data/sub/below', '')
    await sandbox.files.write('/data/here', '')
    await eventually(() => expect(names).toContain('here'))
    expect(names).not.toContain('sub/below')
    await handle.stop()
  })

  test('a stopped watch is no longer fed', async () => {
    const { sandbox, machine } = await startEnvd()
    const stopped = vi.fn<() => void>()
    const watch = machine.files.watch.bind(machine.files)
    vi.spyOn(machine.files, 'watch').mockImplementation(async (...call) => {
      const stop = await watch(...call)
      return () => {
        stopped()
        stop()
      }
    })
    const handle = await sandbox.files.watchDir('/tmp', () => {})
    expect(stopped).not.toHaveBeenCalled()
    await handle.stop()
    await eventually(() => expect(stopped).toHaveBeenCalledOnce())
  })

  test('what is no directory cannot be watched', async () => {
    const { sandbox } = await startEnvd()
    await sandbox.files.write('/tmp/file', '')
    await expect(sandbox.files.watchDir('/nowhere', () => {})).rejects.toBeInstanceOf(FileNotFoundError)
    await expect(sandbox.files.watchDir('/tmp/file', () => {})).rejects.toBeInstanceOf(InvalidArgumentError)
  })

  test('killing the sandbox ends the watch with an error', async () => {
    const { sandbox, kill } = await startEnvd()
    const ended = new Promise<Error | undefined>((resolve) => {
      void sandbox.files.watchDir('/tmp', () => {}, { onExit: resolve }).then(() => kill())
    })
    await expect(ended).resolves.toMatchObject({ name: 'TimeoutError' })
  })

  test('a quiet watch says that it is alive', async () => {
    const clock = createManualClock()
    const { filesystem } = await startEnvd({ clock })
    const stream = filesystem().watchDir({ path: '/tmp' })[Symbol.asyncIterator]()
    await stream.next()
    const next = stream.next()
    await eventually(async () => {
      clock.advance(90_000)
      expect(await Promise.race([next, Promise.resolve('nothing yet')])).toMatchObject({
        value: { event: { case: 'keepalive' } },
      })
    })
    await stream.return?.()
  })

  test('a client that cannot stream creates a watcher, fetches its events once, and removes it [D35]', async () => {
    const { filesystem, sandbox } = await startEnvd()
    const client = filesystem('binary')
    const { watcherId } = await client.createWatcher({ path: '/tmp', includeEntry: true })
    await sandbox.files.write('/tmp/new', 'abc')
    const { events } = await client.getWatcherEvents({ watcherId })
    const entry = { path: '/tmp/new', size: 3n }
    const types = [EventType.CREATE, EventType.CHMOD, EventType.WRITE]
    expect(events).toMatchObject(types.map((type) => ({ name: 'new', type, entry })))
    expect((await client.getWatcherEvents({ watcherId })).events).toEqual([])
    await client.removeWatcher({ watcherId })
    await expect(client.getWatcherEvents({ watcherId })).rejects.toThrow(
      `[not_found] watcher with id ${watcherId} not found`,
    )
    await expect(client.removeWatcher({ watcherId })).rejects.toThrow('[not_found]')
  })

  test('a watcher nobody asks keeps no more than the kernel would, and says that changes were lost', async () => {
    const { filesystem, machine } = await startEnvd()
    const watch = vi.spyOn(machine.files, 'watch').mockResolvedValue(() => undefined)
    const client = filesystem()
    const { watcherId } = await client.createWatcher({ path: '/tmp' })
    const listener = watch.mock.calls[0]?.[2]
    for (let index = 0; index < 20_000; index++) listener?.({ name: `file-${index}`, type: 'write' })
    expect((await client.getWatcherEvents({ watcherId })).events).toHaveLength(16_384)
    await expect(client.getWatcherEvents({ watcherId })).rejects.toThrow('[internal] too many changes at once')
  })
})
