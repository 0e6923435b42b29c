import { link, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { FileType, Sandbox, Template } from 'e2b'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createEmulator, type Emulator, type EmulatorConnection } from '@warmbox/e2b-emulator'
import { runtimes } from '../support/runtimes.ts'

async function filesBelow({ files }: Sandbox, path: string): Promise<string[]> {
  const entries = await files.list(path, { depth: 5 })
  return entries.filter(({ type }) => type === FileType.FILE).map((entry) => entry.path)
}

const ownedBy =
  (seen: (name: string) => unknown) =>
  (permissions: string, owner: string, group = owner) => ({ permissions, owner: seen(owner), group: seen(group) })

for (const { runtime, title, unavailable, seen } of runtimes) {
  describe.skipIf(unavailable)(`where COPY puts things: ${title}`, { timeout: 180_000 }, () => {
    const as = ownedBy(seen)
    let emulator: Emulator
    let connection: EmulatorConnection
    let fileContextPath: string

    beforeAll(async () => {
      fileContextPath = await mkdtemp(join(tmpdir(), 'emulator-copy-'))
      for (const path of ['a', 'b', 'src/one.ts', 'src/sub/two.ts', 'other/sub/three']) {
        await mkdir(join(fileContextPath, dirname(path)), { recursive: true })
        await writeFile(join(fileContextPath, path), `content of ${path}`, { mode: 0o644 })
      }
      await link(join(fileContextPath, 'src/one.ts'), join(fileContextPath, 'src/sub/again.ts'))
      emulator = createEmulator({ runtime: runtime })
      connection = (await emulator.listen()).connection
    }, 180_000)

    afterAll(async () => {
      await emulator.close()
      await rm(fileContextPath, { recursive: true })
    })

    const from = () => Template({ fileContextPath }).fromImage('node:24')
    const built = async (name: string, template: Parameters<typeof Template.build>[0]) => {
      await Template.build(template, name, connection)
      return Sandbox.create(name, connection)
    }
    test('owner and mode are for what was brought: the way there is root’s, what exists stays as it is [B55]', async () => {
      const template = from()
        .copy('a', '/etc/a.conf', { mode: 0o600, user: 'root' })
        .copy('a', '/opt/deep/er/a', { mode: 0o600 })
        .copy('src', '/opt/tree', { mode: 0o700 })
        .copy('other', '/opt/tree')
        .copy('a', '/opt/a', { user: 'user:root' })
        .copy('a', 'sub/.netrc', { mode: 0o600 })
      const sandbox = await built('modes', template)
      const expected = {
        '/etc': as('drwxr-xr-x', 'root'),
        '/etc/a.conf': as('-rw-------', 'root'),
        '/opt/deep': as('drwxr-xr-x', 'root'),
        '/opt/deep/er': as('drwxr-xr-x', 'root'),
        '/opt/deep/er/a': as('-rw-------', 'user'),
        '/opt/tree': as('drwxr-xr-x', 'root'),
        '/opt/tree/one.ts': as('-rwx------', 'user'),
        '/opt/tree/sub': as('drwx------', 'user'),
        '/opt/tree/sub/two.ts': as('-rwx------', 'user'),
        '/opt/tree/sub/three': as('-rw-r--r--', 'user'),
        '/opt/a': as('-rw-r--r--', 'user', 'root'),
        // Finishing gives the home to its user.
        '/home/user': as('drwxr-xr-x', 'user'),
        '/home/user/sub': as('drwxr-xr-x', 'user'),
        '/home/user/sub/.netrc': as('-rw-------', 'user'),
      }
      const found: Record<string, unknown> = {}
      for (const path of Object.keys(expected)) found[path] = await sandbox.files.getInfo(path, { user: 'root' })
      expect(found).toMatchObject(expected)
    })

    test('a file goes into a destination that is a directory, or ends like one [B54]', async () => {
      const template = from()
        .copy(['a', 'b'], '.')
        .copy('a', '/home')
        .setWorkdir('/app')
        .copy('a', '.')
        .copy('b', '/made/.')
        .copy('a', '/app/a')
      const sandbox = await built('into', template)
      expect(await filesBelow(sandbox, '/home')).toEqual(
        expect.arrayContaining(['/home/a', '/home/user/a', '/home/user/b']),
      )
      expect(await filesBelow(sandbox, '/app')).toEqual(['/app/a'])
      expect(await filesBelow(sandbox, '/made')).toEqual(['/made/b'])
    })

    test('a pattern stands for what it matched, at its place below the directory above it [B54]', async () => {
      const template = from().copy('src/**/*.ts', '/typescript').copy('*', '/all')
      const sandbox = await built('patterns', template)
      expect(await filesBelow(sandbox, '/typescript')).toEqual([
        '/typescript/one.ts',
        '/typescript/sub/again.ts',
        '/typescript/sub/two.ts',
      ])
      expect(await filesBelow(sandbox, '/all')).toEqual([
        '/all/a',
        '/all/b',
        '/all/other/sub/three',
        '/all/src/one.ts',
        '/all/src/sub/again.ts',
        '/all/src/sub/two.ts',
      ])
      expect(await sandbox.files.read('/all/src/sub/again.ts')).toBe('content of src/one.ts')
      expect(await sandbox.files.read('/typescript/one.ts')).toBe('content of src/one.ts')
    })
  })
}
