import { expect, test } from 'vitest'
import { describeReal, eventually, output, run, streamOf, textOf, useRuntime } from './support.ts'

describeReal('metadata of files in a machine', () => {
  const bench = useRuntime()

  test('is kept as attributes, with any character, and told by every look [D30]', async () => {
    const { files } = await bench().shared()
    const metadata = { kind: 'a=b c\\d', empty: '', 'x.y-z': '~' }
    const path = '/home/user/kept/näme with spaces'
    expect((await files.write(path, streamOf('x'), 'user', { metadata })).metadata).toEqual(metadata)
    expect((await files.stat(path)).metadata).toEqual(metadata)
    expect(await files.list('/home/user/kept', 1)).toMatchObject([{ metadata }])
    expect((await files.move(path, '/home/user/kept/b')).metadata).toEqual(metadata)
  })

  test('is replaced by every write, and gone with one that has none [D30]', async () => {
    const { files } = await bench().shared()
    const write = (metadata?: Readonly<Record<string, string>>) =>
      files.write('/tmp/replaced', streamOf('x'), 'user', metadata === undefined ? {} : { metadata })
    await write({ a: '1', b: '2' })
    await write({ b: '3' })
    expect((await files.stat('/tmp/replaced')).metadata).toEqual({ b: '3' })
    await write()
    expect((await files.stat('/tmp/replaced')).metadata).toEqual({})
  })

  test('is in what a snapshot keeps, as what commands see [D30]', async () => {
    const { machine, runtime } = bench()
    const first = await machine()
    await first.files.write('/home/user/file', streamOf('x'), 'user', { metadata: { kind: 'report' } })
    const image = await first.snapshot()
    const second = await machine(image)
    expect((await second.files.stat('/home/user/file')).metadata).toEqual({ kind: 'report' })
    await output(second, 'cp --preserve=xattr file copy')
    expect((await second.files.stat('/home/user/copy')).metadata).toEqual({ kind: 'report' })
    await Promise.all([first.destroy(), second.destroy()])
    await runtime.deleteImage(image)
  })

  test('is reached again after commands ended the program that reaches it [D30]', async () => {
    const machine = await bench().machine()
    const written = await machine.files.write('/tmp/a', streamOf('x'), 'user', { metadata: { n: '1' } })
    expect(written.metadata).toEqual({ n: '1' })
    await run(machine, 'pkill -9 perl', { user: 'root' })
    await eventually(async () => (await machine.files.stat('/tmp/a')).metadata, { n: '1' })
    await machine.destroy()
  })

  test('sources become one file, and are gone; a failure changes nothing [D36]', async () => {
    const { files } = await bench().shared()
    await files.write('/tmp/parts/1', streamOf('one;'), 'root')
    await files.write('/tmp/parts/2', streamOf(new Uint8Array(300_000).fill(120)), 'root')
    await expect(files.concatenate(['/tmp/parts/1', '/tmp/missing'], '/tmp/whole/w', 'user')).rejects.toMatchObject({
      code: 'not-found',
    })
    await expect(files.concatenate(['/tmp/parts/1', '/etc'], '/tmp/whole/w', 'user')).rejects.toMatchObject({
      code: 'is-directory',
    })
    const entry = await files.concatenate(['/tmp/parts/2', '/tmp/parts/1'], '/tmp/whole/w', 'user')
    expect(entry).toMatchObject({ path: '/tmp/whole/w', size: 300_004 })
    expect(await textOf(await files.read('/tmp/whole/w'))).toBe(`${'x'.repeat(300_000)}one;`)
    expect(await files.list('/tmp/parts', 1)).toEqual([])
    expect((await files.list('/tmp/whole', 1)).map(({ name }) => name)).toEqual(['w'])
  })
})
