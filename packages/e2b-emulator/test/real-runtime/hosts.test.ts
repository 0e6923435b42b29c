import { execFile, execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, openSync, closeSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { describeReal, isRoot } from './support.ts'

const checks = fileURLToPath(new URL('fixtures/checks.ts', import.meta.url))
const run = promisify(execFile)

describeReal('other hosts', () => {
  test.skipIf(!isRoot)(
    'an unprivileged user of the host (skipped: the whole suite already runs as one)',
    async () => {
      const parent = mkdtempSync(join(tmpdir(), 'warmbox-nobody-'))
      try {
        chmodSync(parent, 0o777)
        const { stdout } = await run(
          'setpriv',
          ['--reuid', '65534', '--regid', '65534', '--clear-groups', process.execPath, checks, parent],
          { cwd: '/' },
        )
        expect(JSON.parse(stdout)).toEqual({ ...expected, storage: 'overlay layers', singleUser: true, owner: 'root' })
        expect(readdirSync(parent)).toEqual([])
      } finally {
        rmSync(parent, { recursive: true, force: true })
      }
    },
    180_000,
  )

  test('a data directory on an overlay, as in a container, is served by copies, in memory where they fit', async () => {
    const parent = mkdtempSync(join(tmpdir(), 'warmbox-overlaid-'))
    try {
      for (const name of ['lower', 'upper', 'work', 'merged']) mkdirSync(join(parent, name))
      const script =
        'mount -t overlay overlay -o userxattr,lowerdir=lower,upperdir=upper,workdir=work merged && exec "$@"'
      const namespace = ['--mount', ...(isRoot ? [] : ['--user', '--map-root-user'])]
      const { stdout } = await run(
        'unshare',
        [...namespace, 'sh', '-c', script, 'sh', process.execPath, checks, join(parent, 'merged')],
        { cwd: parent },
      )
      expect(JSON.parse(stdout)).toEqual({
        ...expected,
        storage: 'tmpfs',
        singleUser: !isRoot,
        owner: isRoot ? 'user' : 'root',
      })
    } finally {
      // The kernel's own directory below `work` has no permissions at all.
      execFileSync('chmod', ['-R', 'u+rwx', parent])
      rmSync(parent, { recursive: true, force: true })
    }
  })

  test.skipIf(!isRoot)(
    'a data directory others cannot walk to (skipped: needs root)',
    async () => {
      const parent = mkdtempSync(join(tmpdir(), 'warmbox-private-'))
      try {
        const { stdout } = await run(process.execPath, [checks, join(parent, 'data')])
        expect(JSON.parse(stdout)).toMatchObject({ storage: 'overlay layers', layered: 'one two' })
      } finally {
        rmSync(parent, { recursive: true, force: true })
      }
    },
    180_000,
  )

  test('a descriptor the host’s process was started with does not reach a machine', async () => {
    const parent = mkdtempSync(join(tmpdir(), 'warmbox-descriptor-'))
    const directory = openSync('/', 'r')
    try {
      const { stdout } = await run('bash', ['-c', 'exec 200</; exec "$@"', 'bash', process.execPath, checks, parent])
      expect(JSON.parse(stdout)).toMatchObject({ descriptors: '0 1 2 3' })
    } finally {
      closeSync(directory)
      rmSync(parent, { recursive: true, force: true })
    }
  })
})

const expected = {
  layered: 'one two',
  descriptors: '0 1 2 3',
  hostFileSeen: false,
  hostProgramsWritable: false,
  inspected: 'one\n',
  afterThaw: 'thawed',
}
