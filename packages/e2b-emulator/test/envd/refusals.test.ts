import { AuthenticationError, FileNotFoundError, FileType, InvalidArgumentError, Sandbox, SandboxError } from 'e2b'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  createEmulator,
  createScriptedRuntime,
  probeNamespaces,
  type Emulator,
  type ScriptedCommand,
} from '@warmbox/e2b-emulator'
import { linkArchive } from '../support/link-archive.ts'

/** What every row below finds: a file, a directory, a link to that, and links that lead in a circle and nowhere. */
const PREPARE = [
  'mkdir -p /tmp/data/directory',
  'echo content >/tmp/data/file',
  'ln -s /tmp/data/directory /tmp/data/link',
  'ln -s loop /tmp/data/loop',
  'ln -s nothing /tmp/data/broken',
].join(' && ')

const scripted: readonly ScriptedCommand[] = [
  {
    match: PREPARE,
    answer: async ({ files }) => {
      await files.makeDirectory('/tmp/data/directory', 'user')
      await files.write('/tmp/data/file', new Blob(['content\n']).stream(), 'user')
      await files.unpack(linkArchive('tmp/data/link', '/tmp/data/directory'), '/', { owner: 'user' })
      await files.unpack(linkArchive('tmp/data/loop', 'loop'), '/', { owner: 'user' })
      await files.unpack(linkArchive('tmp/data/broken', 'nothing'), '/', { owner: 'user' })
      return {}
    },
  },
  { match: 'ls', answer: {} },
]

const zero = '/tmp/data/a\0b'
const long = `/tmp/data/${'n'.repeat(256)}`
const loop = '/tmp/data/loop/x'
const below = '/tmp/data/file/x'
const missing = '/tmp/data/missing'

const invalid = 'invalid argument'
const tooLong = 'file name too long'
const circle = 'too many levels of symbolic links'
const noDirectory = 'not a directory'
const nothing = 'no such file or directory'

type Refused = abstract new (...parameters: never[]) => Error
type Row = readonly [what: string, call: (sandbox: Sandbox) => Promise<unknown>, kind: Refused, message: string]

/** The same call on paths that the system refuses each in its own way, with words before its words. */
const onPaths = (
  what: string,
  call: (sandbox: Sandbox, path: string) => Promise<unknown>,
  kind: Refused,
  words: (path: string) => string,
): readonly Row[] =>
  [
    ['a zero byte', zero, invalid] as const,
    ['a name too long', long, tooLong] as const,
    ['a circle of links', loop, circle] as const,
    ['a file on the way', below, noDirectory] as const,
  ].map(([name, path, word]): Row => [`${what}: ${name}`, (sandbox) => call(sandbox, path), kind, words(path) + word])

const rows: readonly Row[] = [
  ...onPaths(
    'getInfo',
    (sandbox, path) => sandbox.files.getInfo(path),
    SandboxError,
    (path) => `[internal] error getting file info: lstat ${path}: `,
  ),
  [
    'getInfo: nothing there',
    (sandbox) => sandbox.files.getInfo(missing),
    FileNotFoundError,
    `file not found: lstat ${missing}: ${nothing}`,
  ],
  ...onPaths(
    'list',
    (sandbox, path) => sandbox.files.list(path),
    SandboxError,
    (path) =>
      path === loop
        ? `[failed_precondition] cyclic symlink or chain >255 links at "${path}"`
        : `[internal] error resolving symlink: lstat ${path}: `,
  ).map(([what, call, kind, message]): Row => [what, call, kind, message.replace(`"${circle}`, '"')]),
  [
    'list: nothing there',
    (sandbox) => sandbox.files.list(missing),
    FileNotFoundError,
    `path not found: lstat ${missing}: ${nothing}`,
  ],
  [
    'list: a file',
    (sandbox) => sandbox.files.list('/tmp/data/file'),
    InvalidArgumentError,
    'path is not a directory: /tmp/data/file',
  ],
  ...onPaths(
    'makeDir',
    (sandbox, path) => sandbox.files.makeDir(path),
    SandboxError,
    (path) => `[internal] error getting file info: stat ${path}: `,
  ),
  [
    'makeDir: a file there',
    (sandbox) => sandbox.files.makeDir('/tmp/data/file'),
    InvalidArgumentError,
    'path already exists but it is not a directory: /tmp/data/file',
  ],
  ...onPaths(
    'rename',
    (sandbox, path) => sandbox.files.rename(path, '/tmp/data/renamed'),
    SandboxError,
    (path) => `[internal] error renaming: rename ${path} /tmp/data/renamed: `,
  ),
  [
    'rename: nothing there',
    (sandbox) => sandbox.files.rename(missing, '/tmp/data/renamed'),
    FileNotFoundError,
    `source file not found: rename ${missing} /tmp/data/renamed: ${nothing}`,
  ],
  [
    'rename: into itself',
    (sandbox) => sandbox.files.rename('/tmp/data/directory', '/tmp/data/directory/x'),
    SandboxError,
    `error renaming: rename /tmp/data/directory /tmp/data/directory/x: ${invalid}`,
  ],
  [
    'rename: a file over a directory',
    (sandbox) => sandbox.files.rename('/tmp/data/file', '/tmp/data/directory'),
    SandboxError,
    'error renaming: rename /tmp/data/file /tmp/data/directory: ',
  ],
  [
    'rename: a directory over a file',
    (sandbox) => sandbox.files.rename('/tmp/data/directory', '/tmp/data/file'),
    SandboxError,
    `error renaming: rename /tmp/data/directory /tmp/data/file: ${noDirectory}`,
  ],
  ...['/', '/usr', '/etc', '/proc', '/dev', '/tmp/data/../../usr/local'].map((path): Row => {
    const named = path.replace('/tmp/data/../..', '')
    return [
      `rename: what the machine needs: ${path}`,
      (sandbox) => sandbox.files.rename(path, '/tmp/data/renamed'),
      SandboxError,
      `error renaming: rename ${named} /tmp/data/renamed: device or resource busy`,
    ]
  }),
  [
    'rename: over what the machine needs',
    (sandbox) => sandbox.files.rename('/tmp/data/directory', '/usr/local'),
    SandboxError,
    'error renaming: rename /tmp/data/directory /usr/local: device or resource busy',
  ],
  ...onPaths(
    'remove',
    (sandbox, path) => sandbox.files.remove(path),
    SandboxError,
    (path) => `[internal] error removing file or directory: unlinkat ${path}: `,
  ),
  ...onPaths(
    'watchDir',
    (sandbox, path) => sandbox.files.watchDir(path, () => {}),
    SandboxError,
    (path) => `[internal] error statting path ${path}: stat ${path}: `,
  ),
  [
    'watchDir: nothing there',
    (sandbox) => sandbox.files.watchDir(missing, () => {}),
    FileNotFoundError,
    `path ${missing} not found: stat ${missing}: ${nothing}`,
  ],
  ...onPaths(
    'read',
    (sandbox, path) => sandbox.files.read(path),
    SandboxError,
    (path) => `500: error opening file '${path}': open ${path}: `,
  ),
  [
    'read: nothing there',
    (sandbox) => sandbox.files.read(missing),
    FileNotFoundError,
    `path '${missing}' does not exist`,
  ],
  ...onPaths(
    'write',
    (sandbox, path) => sandbox.files.write(path, 'x', { useOctetStream: true }),
    SandboxError,
    (path) => `500: error opening file: open ${path}: `,
  ),
  ...onPaths(
    'run: in a directory with',
    (sandbox, path) => sandbox.commands.run('ls', { cwd: path }),
    InvalidArgumentError,
    () => "error starting process '/bin/bash -l -c ls': fork/exec /bin/bash: ",
  ),
  [
    'run: in a file',
    (sandbox) => sandbox.commands.run('ls', { cwd: '/tmp/data/file' }),
    InvalidArgumentError,
    `error starting process '/bin/bash -l -c ls': fork/exec /bin/bash: ${noDirectory}`,
  ],
  [
    'run: nothing there',
    (sandbox) => sandbox.commands.run('ls', { cwd: missing }),
    InvalidArgumentError,
    `cwd '${missing}' does not exist`,
  ],
  [
    'run: a zero byte in the command',
    (sandbox) => sandbox.commands.run('ls\0'),
    InvalidArgumentError,
    `fork/exec /bin/bash: ${invalid}`,
  ],
  [
    'run: a zero byte in a variable',
    (sandbox) => sandbox.commands.run('ls', { envs: { NAME: 'a\0b' } }),
    InvalidArgumentError,
    `fork/exec /bin/bash: ${invalid}`,
  ],
  [
    'run: an argument too long',
    (sandbox) => sandbox.commands.run(`ls ${'x'.repeat(131_072)}`),
    InvalidArgumentError,
    'fork/exec /bin/bash: argument list too long',
  ],
  [
    'run: an argument too long, on a terminal',
    (sandbox) => sandbox.pty.create({ cols: 80, rows: 24, onData: () => {}, envs: { LONG: 'x'.repeat(131_072) } }),
    InvalidArgumentError,
    ': argument list too long',
  ],
  ...['nobody-here', 'no\0body', 'x'.repeat(300), '__proto__', 'root\n'].map((user): Row => [
    `run: a user that does not exist: ${JSON.stringify(user.slice(0, 12))}`,
    (sandbox) => sandbox.commands.run('ls', { user }),
    AuthenticationError,
    `invalid username: '${user}'`,
  ]),
  [
    'read: a user that does not exist',
    (sandbox) => sandbox.files.read('/tmp/data/file', { user: 'nobody-here' }),
    AuthenticationError,
    "error looking up user 'nobody-here': user: unknown user nobody-here",
  ],
]

const probe = await probeNamespaces()
const skipped = probe.available ? '' : ` (skipped: ${probe.reason})`
const isRoot = process.getuid?.() === 0

describe.each([
  { runtime: 'scripted', isSkipped: false, title: 'a scripted machine' },
  { runtime: 'real', isSkipped: !probe.available, title: `a machine with real processes${skipped}` },
] as const)('what the system refuses on $title', ({ runtime, isSkipped }) => {
  describe.skipIf(isSkipped)('is told in the words of the platform', { timeout: 180_000 }, () => {
    let emulator: Emulator
    let sandbox: Sandbox

    beforeAll(async () => {
      emulator = createEmulator({
        runtime: runtime === 'real' ? 'real' : createScriptedRuntime({ commands: scripted }),
      })
      sandbox = await Sandbox.create('base', (await emulator.listen()).connection)
      await sandbox.commands.run(PREPARE)
    }, 180_000)

    afterAll(() => emulator.close(), 180_000)

    test.each(rows)('%s [D44] [D46]', async (_what, call, kind, message) => {
      const error: unknown = await call(sandbox).catch((refused: unknown) => refused)
      expect(error).toBeInstanceOf(kind)
      expect(error).toMatchObject({ message: expect.stringContaining(message) })
      // Neither the words of this program's own runtime nor paths of the host.
      expect(String(error)).not.toMatch(/\bE[A-Z]{3,}\b|, (?:open|lstat|stat|rename|spawn) '|ERR_/)
    })

    test.skipIf(runtime === 'real' && !isRoot)(
      `a directory that the user may not enter is an invalid argument${isRoot ? '' : ' (real machines: as root only)'} [D44]`,
      async () => {
        await expect(sandbox.commands.run('ls', { cwd: '/root', user: 'user' })).rejects.toThrow(
          "error starting process '/bin/bash -l -c ls': fork/exec /bin/bash: permission denied",
        )
        await expect(sandbox.commands.run('ls', { cwd: '/root', user: 'root' })).resolves.toMatchObject({ exitCode: 0 })
      },
    )

    test('what was refused has changed nothing [D44]', async () => {
      const entries = await sandbox.files.list('/tmp/data', { depth: 9 })
      expect(entries.map(({ path }) => path)).toEqual(['/tmp/data/directory', '/tmp/data/file', '/tmp/data/link'])
      expect(await sandbox.files.read('/tmp/data/file')).toBe('content\n')
    })

    test('a link that leads nowhere or in a circle is an entry without a type, which the SDK leaves out of lists [D45]', async () => {
      for (const path of ['/tmp/data/loop', '/tmp/data/broken']) {
        const { type, symlinkTarget, permissions, mode } = await sandbox.files.getInfo(path)
        expect({ type, symlinkTarget, permissions, mode }).toEqual({
          type: undefined,
          symlinkTarget: path,
          permissions: 'Lrwxrwxrwx',
          mode: 0,
        })
        expect(await sandbox.files.exists(path)).toBe(true)
      }
      expect(await sandbox.files.getInfo('/tmp/data/link')).toMatchObject({
        type: FileType.DIR,
        symlinkTarget: '/tmp/data/directory',
        permissions: 'Lrwxrwxrwx',
        mode: 0o755,
      })
    })

    test('a listing names what it finds below the path that was asked for [D45]', async () => {
      await sandbox.files.write('/tmp/data/directory/inside', 'x')
      const entries = await sandbox.files.list('/tmp/data/link')
      expect(entries.map(({ path }) => path)).toEqual(['/tmp/data/link/inside'])
      await sandbox.files.remove('/tmp/data/directory/inside')
    })

    test('what is written to a device of the machine is taken', async () => {
      await expect(sandbox.files.write('/dev/null', 'gone')).resolves.toMatchObject({ path: '/dev/null' })
    })
  })
})
