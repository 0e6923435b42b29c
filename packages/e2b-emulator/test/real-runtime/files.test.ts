import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { describeReal, isRoot, output, run, streamOf, textOf, useRuntime } from './support.ts'

/** Who a file belongs to that was given to `user`: where one id stands for all, its first name. */
const user = isRoot ? 'user' : 'root'

describeReal('files of a machine', () => {
  const bench = useRuntime()

  test('a written file is read back, with parents, owner and mode', async () => {
    const { files } = await bench().shared()
    const entry = await files.write('/home/user/a/b/c.txt', streamOf('hello'), 'user', { mode: 0o640 })
    expect(entry).toMatchObject({
      name: 'c.txt',
      path: '/home/user/a/b/c.txt',
      type: 'file',
      size: 5,
      mode: 0o640,
      owner: user,
    })
    expect(entry.modifiedAt).toBeInstanceOf(Date)
    expect(await textOf(await files.read('/home/user/a/b/c.txt'))).toBe('hello')
    expect(await files.stat('/home/user/a')).toMatchObject({ type: 'directory', owner: user, group: user })
    await files.write('/home/user/a/b/c.txt', streamOf(''), 'user')
    expect(await textOf(await files.read('/home/user/a/b/c.txt'))).toBe('')
  })

  test('20 MB go in and out unchanged', async () => {
    const machine = await bench().shared()
    const bytes = new Uint8Array(20_000_000).map((_, index) => index * 7)
    await machine.files.write('/tmp/big', streamOf(bytes), 'user')
    const read = new Uint8Array(await new Response(await machine.files.read('/tmp/big')).arrayBuffer())
    expect(Buffer.compare(read, bytes)).toBe(0)
  })

  test('a download that is cancelled and an upload that fails leave the machine in order', async () => {
    const { files } = await bench().shared()
    await files.write('/tmp/big', streamOf(new Uint8Array(4_000_000)), 'user')
    const reader = (await files.read('/tmp/big')).getReader()
    await reader.read()
    await reader.cancel()
    const broken = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.error(new Error('the source broke')),
    })
    await expect(files.write('/tmp/broken', broken, 'user')).rejects.toThrow('the source broke')
    expect(await textOf(await files.read('/etc/hostname'))).toBe('box\n')
  })

  test('a refused upload cancels its source', async () => {
    const { files } = await bench().shared()
    let cancelled = false
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
      cancel: () => {
        cancelled = true
      },
    })
    await expect(files.write('/home/user', endless, 'user')).rejects.toMatchObject({ code: 'is-directory' })
    expect(cancelled).toBe(true)
  })

  test('failures carry the code of their kind', async () => {
    const { files } = await bench().shared()
    await expect(files.stat('/missing')).rejects.toMatchObject({ code: 'not-found' })
    await expect(files.read('/missing')).rejects.toMatchObject({ code: 'not-found' })
    await expect(files.read('/etc')).rejects.toMatchObject({ code: 'is-directory' })
    await expect(files.list('/etc/passwd', 1)).rejects.toMatchObject({ code: 'not-directory' })
    await expect(files.list('/missing', 1)).rejects.toMatchObject({ code: 'not-found' })
    await expect(files.remove('/missing')).rejects.toMatchObject({ code: 'not-found' })
    await expect(files.move('/missing', '/tmp/x')).rejects.toMatchObject({ code: 'not-found' })
    await expect(files.makeDirectory('/etc/passwd', 'user')).rejects.toMatchObject({ code: 'not-directory' })
    await expect(files.write('/tmp/x', streamOf(''), 'nobody-here')).rejects.toMatchObject({ code: 'user-unknown' })
    await expect(files.homeOf('nobody-here')).rejects.toMatchObject({ code: 'user-unknown' })
    expect(await files.homeOf('user')).toBe('/home/user')
  })

  test.each(['/', '/etc', '/usr', '/usr/local', '/proc', '/dev', '/dev/shm', '/tmp/link/etc'])(
    'what the machine needs is refused before anything of it is removed: %s',
    async (path) => {
      const machine = await bench().machine()
      await output(machine, 'ln -s / /tmp/link')
      await expect(machine.files.remove(path)).rejects.toMatchObject({
        code: 'failed',
        message: `unlinkat ${path}: device or resource busy`,
      })
      expect(await output(machine, 'cat /etc/hostname; test -c /dev/null && test -d /dev/shm && echo whole')).toBe(
        'box\nwhole',
      )
      await machine.files.remove('/tmp/link')
      await machine.destroy()
    },
  )

  test('directories are made, listed to a depth, moved and removed', async () => {
    const { files } = await bench().shared()
    expect(await files.makeDirectory('/workspace/one/two', 'user')).toBe(true)
    expect(await files.makeDirectory('/workspace/one/two', 'user')).toBe(false)
    await files.write('/workspace/one/two/deep', streamOf('x'), 'user')
    const paths = async (depth: number) => (await files.list('/workspace', depth)).map(({ path }) => path)
    expect(await paths(1)).toEqual(['/workspace/one'])
    expect(await paths(2)).toEqual(['/workspace/one', '/workspace/one/two'])
    expect(await paths(3)).toEqual(['/workspace/one', '/workspace/one/two', '/workspace/one/two/deep'])
    expect(await files.move('/workspace/one', '/workspace/moved')).toMatchObject({ name: 'moved', type: 'directory' })
    await files.remove('/workspace/moved')
    expect(await paths(3)).toEqual([])
  })

  test('symlinks are followed inside the machine and never on the host', async () => {
    const outside = mkdtempSync(join(tmpdir(), 'warmbox-outside-'))
    try {
      writeFileSync(join(outside, 'file'), 'of the host')
      const machine = await bench().shared()
      await output(machine, `ln -s /etc/hostname inside; ln -s ${outside} outside; ln -s missing broken`)
      expect(await machine.files.stat('/home/user/inside')).toMatchObject({
        type: 'file',
        symlinkTarget: '/etc/hostname',
      })
      expect(await machine.files.stat('/home/user/broken')).toMatchObject({
        type: 'other',
        symlinkTarget: '/home/user/broken',
      })
      expect(await textOf(await machine.files.read('/home/user/inside'))).toBe('box\n')
      await expect(machine.files.read('/home/user/outside/file')).rejects.toMatchObject({ code: 'not-found' })
    } finally {
      rmSync(outside, { recursive: true, force: true })
    }
  })

  test('an archive is merged below a directory and given to its owner', async () => {
    const source = mkdtempSync(join(tmpdir(), 'warmbox-archive-'))
    try {
      mkdirSync(join(source, 'kept/new'), { recursive: true })
      writeFileSync(join(source, 'kept/new/file'), 'content', { mode: 0o755 })
      writeFileSync(join(source, 'top'), 'top')
      symlinkSync('top', join(source, 'link'))
      const machine = await bench().shared()
      await output(machine, 'mkdir -p /srv/app/kept && echo old >/srv/app/kept/old && chmod 700 /srv/app/kept', {
        user: 'root',
      })
      const archive = execFileSync('tar', ['-czf', '-', '-C', source, '.'])
      await machine.files.unpack(streamOf(archive), '/srv/app', { owner: 'user' })
      expect(
        await output(
          machine,
          'cd /srv/app && find . | sort && stat -c "%n %a %U" kept kept/new/file link && cat link',
          {
            user: 'root',
          },
        ),
      ).toBe(
        [
          '.',
          './kept',
          './kept/new',
          './kept/new/file',
          './kept/old',
          './link',
          './top',
          'kept 700 root',
          `kept/new/file 755 ${user}`,
          `link 777 ${user}`,
          'top',
        ].join('\n'),
      )
      await machine.files.unpack(streamOf(archive), '/usr/local/app', { owner: 'root', mode: 0o700 })
      expect(await output(machine, 'stat -c "%a %U" /usr/local/app/top', { user: 'root' })).toBe('700 root')
      await expect(
        machine.files.unpack(streamOf('not an archive'), '/srv/app', { owner: 'user' }),
      ).rejects.toMatchObject({ code: 'failed' })
      expect((await machine.files.list('/srv/app', 1)).map(({ name }) => name)).toEqual(['kept', 'link', 'top'])
    } finally {
      rmSync(source, { recursive: true, force: true })
    }
  })

  test('an upload that breaks off leaves what came of it to its user [D26]', async () => {
    const { files } = await bench().shared()
    let pulled = 0
    const broken = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        if (pulled++ === 0) controller.enqueue(new Uint8Array(10))
        else controller.error(new Error('the source broke'))
      },
    })
    await expect(files.write('/srv/half/way', broken, 'user')).rejects.toThrow('the source broke')
    expect(await files.stat('/srv/half')).toMatchObject({ owner: user })
    expect(await files.stat('/srv/half/way')).toMatchObject({ owner: user, group: user })
  })

  test('a pipe that nobody writes to is empty, one that nobody reads is refused, and other calls go on', async () => {
    const machine = await bench().shared()
    await output(machine, 'mkfifo /tmp/pipe')
    const reads = Array.from({ length: 8 }, async () => textOf(await machine.files.read('/tmp/pipe')))
    expect(new Set(await Promise.all(reads))).toEqual(new Set(['']))
    await expect(machine.files.write('/tmp/pipe', streamOf('x'), 'user')).rejects.toMatchObject({ system: 'ENXIO' })
  })

  test('a watch whose program was ended says so', async () => {
    const machine = await bench().machine()
    const ended = new Promise<Error>((resolve) => {
      void machine.files
        .watch('/tmp', false, () => undefined, resolve)
        .then(() => run(machine, 'pkill -9 perl', { user: 'root' }))
    })
    expect(await ended).toMatchObject({ code: 'failed', message: expect.stringContaining('was ended') })
    await machine.destroy()
  })

  test('watching tells what happened to which name', async () => {
    const machine = await bench().shared()
    await output(machine, 'mkdir -p /workspace/sub && echo a >/workspace/old')
    const events: string[] = []
    const stop = await machine.files.watch('/workspace', true, ({ name, type }) => void events.push(`${type} ${name}`))
    const after = async (command: string, ...expected: string[]) => {
      events.length = 0
      await output(machine, command)
      await expect.poll(() => expected.every((event) => events.includes(event))).toBe(true)
    }
    await after('echo b >>/workspace/old', 'write old')
    await after('touch /workspace/new', 'create new', 'chmod new')
    await after('echo c >/workspace/filled', 'create filled', 'write filled')
    await after('chmod 640 /workspace/old; echo b >>/workspace/old', 'chmod old', 'write old')
    await after('touch /workspace/brief && rm /workspace/brief', 'create brief', 'remove brief')
    await after('rm /workspace/old; echo d >/workspace/old', 'remove old', 'create old', 'write old')
    await after('mv /workspace/filled /tmp/filled', 'rename filled')
    await after('chmod 600 /workspace/new', 'chmod new')
    await after('mv /workspace/new /workspace/newer', 'rename new', 'create newer')
    await after('rm /workspace/newer', 'remove newer')
    await after('echo x >/workspace/sub/file', 'create sub/file')
    await after('mkdir /workspace/fresh && echo y >/workspace/fresh/file', 'create fresh', 'create fresh/file')
    await after('chmod 750 /workspace', 'chmod .')
    stop()
    events.length = 0
    await output(machine, 'touch /workspace/unheard && sleep 0.1')
    expect(events).toEqual([])
    await expect(machine.files.watch('/missing', false, () => undefined)).rejects.toMatchObject({ code: 'not-found' })
  })
})
