import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { describeReal, eventually, imageAfter, isRoot, output, run, useRuntime } from './support.ts'

/** Set where minutes count more than the last test; `pnpm test` alone runs all. */
const isShort = process.env['WARMBOX_SHORT_TESTS'] === '1'

describeReal('images', () => {
  const bench = useRuntime()

  test('a snapshot holds what was there, and neither side sees later changes of the other', async () => {
    const first = await bench().machine()
    await output(first, 'echo one >file; sudo sh -c "echo tool >/usr/local/bin/tool; chmod 755 /usr/local/bin/tool"')
    const image = await first.snapshot()
    await output(first, 'echo changed >file')
    const second = await bench().machine(image)
    expect(await output(second, 'cat file /usr/local/bin/tool')).toBe('one\ntool')
    await output(second, 'echo other >file')
    expect(await output(first, 'cat file')).toBe('changed')
    expect(await output(await bench().machine(image), 'cat file')).toBe('one')
  })

  test('layers add up: later ones replace, delete and hide what lies below', async () => {
    const { runtime, machine } = bench()
    const steps = [
      'mkdir -p tree/sub; echo 1 >tree/a; echo 1 >tree/sub/b; echo 1 >gone; ln -s gone link; mkfifo pipe',
      'echo 2 >tree/a; rm gone',
      'rm -rf tree/sub; mkdir tree/sub; echo 3 >tree/sub/c',
      'rm link; echo 4 >link; sudo rm /etc/hosts',
      'chmod 700 tree; mv tree moved; sudo rm /usr/bin/env',
    ]
    const image = await imageAfter(runtime, steps, machine)
    const result = await machine(image)
    expect(
      await output(
        result,
        'find moved link pipe | sort; cat moved/a moved/sub/c link; stat -c %a moved; ls gone tree /etc/hosts 2>&1 | wc -l',
      ),
    ).toBe(['link', 'moved', 'moved/a', 'moved/sub', 'moved/sub/c', 'pipe', '2', '3', '4', '700', '3'].join('\n'))
    expect((await run(result, '/usr/bin/env')).exit.exitCode).not.toBe(0)
  })

  test.skipIf(isShort)('a chain of thirty layers still boots', async () => {
    const { runtime, machine } = bench()
    let image = await runtime.baseImage('e2bdev/base')
    for (let step = 0; step < 30; step++) {
      const builder = await machine(image)
      await builder.files.write(`/home/user/steps/${step}`, new Blob([`${step}`]).stream(), 'user')
      image = await builder.snapshot()
      await builder.destroy()
    }
    expect(await output(await machine(image), 'ls steps | wc -l; cat steps/0; echo; cat steps/29')).toBe('30\n0\n29')
  })

  test.skipIf(!isRoot)('owners and special bits survive a snapshot (skipped: needs root)', async () => {
    const first = await bench().machine()
    await output(first, 'useradd -m -u 1234 other; touch /opt/x; chown other:other /opt/x; chmod 4711 /opt/x', {
      user: 'root',
    })
    const second = await bench().machine(await first.snapshot())
    expect(await output(second, 'stat -c "%U %a" /opt/x /home/user')).toBe('other 4711\nuser 755')
  })

  test('an image stays usable for its machines and children after it was deleted', async () => {
    const { runtime, machine } = bench()
    const first = await machine()
    await output(first, 'echo kept >file')
    const parent = await first.snapshot()
    const second = await machine(parent)
    const child = await second.snapshot()
    await runtime.deleteImage(parent)
    await expect(machine(parent)).rejects.toMatchObject({ code: 'not-found' })
    expect(await output(second, 'cat file')).toBe('kept')
    expect(await output(await machine(child), 'cat file')).toBe('kept')
  })

  test('files of a deleted image are removed once nobody needs them', async () => {
    const { runtime, machine, dataDirectory } = bench()
    const layers = () => {
      const [directory = ''] = readdirSync(dataDirectory)
      return readdirSync(join(dataDirectory, directory)).filter((name) => name.startsWith('l'))
    }
    const first = await machine()
    const before = layers()
    const image = await first.snapshot()
    const second = await machine(image)
    await runtime.deleteImage(image)
    expect(layers()).toHaveLength(before.length + 1)
    await second.destroy()
    await eventually(layers, before)
  })

  test('an inspected image is a directory of the host with its complete files', async () => {
    const { runtime, machine } = bench()
    const first = await machine()
    await output(
      first,
      'echo secret >file; chmod 000 file; sudo sh -c "echo tool >/usr/local/bin/tool; rm /etc/hosts /usr/bin/tac"',
    )
    const second = await machine(await first.snapshot())
    await output(second, 'echo more >more')
    const mounted = await runtime.inspectImage(await second.snapshot())
    const directory = mounted?.directory ?? ''
    expect(readFileSync(join(directory, 'home/user/file'), 'utf8')).toBe('secret\n')
    expect(readFileSync(join(directory, 'home/user/more'), 'utf8')).toBe('more\n')
    expect(readFileSync(join(directory, 'usr/local/bin/tool'), 'utf8')).toBe('tool\n')
    expect(readFileSync(join(directory, 'etc/passwd'), 'utf8')).toContain('user:')
    expect(existsSync(join(directory, 'etc/hosts'))).toBe(false)
    expect(lstatSync(directory).isDirectory()).toBe(true)
    await mounted?.release()
    expect(existsSync(directory)).toBe(false)
  })
})
