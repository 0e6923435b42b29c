import { existsSync } from 'node:fs'
import { LocalFilesystem, type WorkspaceFilesystem } from '@mastra/core/workspace'
import type { E2BMountConfig, E2BSandbox } from '@warmbox/sandbox'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { emulate, type EmulatedPlatform, withoutNamespaces } from './support/emulator.ts'
import {
  asRoot,
  credentialsSeen,
  installed,
  installStandIns,
  kept,
  mountCommands,
  mounted,
} from './support/mount-programs.ts'

const SECRET = 's3cr3t/key+with=signs'

/** A file system that says no more of itself than how it is mounted. */
function bucket(config: Record<string, unknown> & { type: string }): WorkspaceFilesystem {
  const filesystem = new LocalFilesystem({ basePath: '/nowhere' })
  Object.defineProperty(filesystem, 'getMountConfig', { value: () => config })
  return filesystem
}

const s3 = (config: Partial<Extract<E2BMountConfig, { type: 's3' }>> = {}) =>
  bucket({
    type: 's3',
    bucket: 'assets',
    region: 'eu-central-1',
    accessKeyId: 'AKIA1',
    secretAccessKey: SECRET,
    ...config,
  })

/** The programs of this machine are those of its machines. */
const hostHasS3fs = existsSync('/usr/bin/s3fs')

const reason = withoutNamespaces === undefined ? '' : ` (skipped: ${withoutNamespaces})`

describe.skipIf(withoutNamespaces !== undefined)(`mounts, with stand-ins for the mount programs${reason}`, () => {
  let platform: EmulatedPlatform
  let sandbox: E2BSandbox

  beforeAll(async () => {
    platform = await emulate({ runtime: 'real' })
  }, 60_000)
  afterAll(() => platform.close())
  beforeEach(async () => {
    sandbox = platform.sandbox({ id: `mounts-${crypto.randomUUID()}` })
    await installStandIns(sandbox, { programs: ['s3fs', 'gcsfuse', 'blobfuse2'] })
  })

  test('S3: bucket and prefix, credentials in a file of root alone, files owned by the user', async () => {
    expect(await sandbox.mount(s3({ prefix: '/data/raw/' }), '/data')).toEqual({ success: true, mountPath: '/data' })

    expect(await mounted(sandbox)).toEqual(['/data'])
    const [words = []] = await mountCommands(sandbox)
    expect(words.slice(0, 3)).toEqual(['s3fs', 'assets:/data/raw', '/data'])
    const uid = (await sandbox.executeCommand('id -u')).stdout.trim()
    expect(words).toEqual(
      expect.arrayContaining([
        'endpoint=eu-central-1',
        'url=https://s3.eu-central-1.amazonaws.com',
        'allow_other',
        `uid=${uid}`,
      ]),
    )
    expect(words).not.toContain('ro')
    expect(words.join(' ')).not.toContain(SECRET)
    expect(await credentialsSeen(sandbox)).toMatch(
      new RegExp(`^600 root \\S+\nAKIA1:${SECRET.replace(/[+]/g, '\\+')}\n`),
    )
    expect(sandbox.mounts.get('/data')).toMatchObject({ state: 'mounted' })
    const asUser = await sandbox.executeCommand('cat /var/lib/warmbox/mounts/*')
    expect(asUser.exitCode).not.toBe(0)
  })

  test.each([
    ['R2', { region: 'auto', endpoint: 'https://acc.r2.cloudflarestorage.com' }, 'endpoint=auto'],
    ['MinIO', { endpoint: 'http://minio.example:9000/' }, 'url=http://minio.example:9000'],
    ['a bucket with dots', { bucket: 'a.b' }, 'use_path_request_style'],
    ['read-only', { readOnly: true }, 'ro'],
  ])('S3: %s', async (_, config, word) => {
    expect(await sandbox.mount(s3(config), '/data')).toMatchObject({ success: true })
    expect((await mountCommands(sandbox))[0]).toContain(word)
  })

  test('S3: a public bucket is read-only and has no credentials file', async () => {
    const filesystem = s3({ accessKeyId: undefined, secretAccessKey: undefined })
    expect(await sandbox.mount(filesystem, '/data')).toMatchObject({ success: true })
    const words = (await mountCommands(sandbox))[0]
    expect(words).toEqual(expect.arrayContaining(['public_bucket=1', 'ro']))
    expect(words?.join(' ')).not.toContain('passwd_file')
    expect(await credentialsSeen(sandbox)).toBe('')
  })

  test('Google Cloud Storage: key file, prefix, read-only without a key', async () => {
    const serviceAccountKey = JSON.stringify({ client_email: 'a@b', private_key: SECRET })
    const config = { type: 'gcs', bucket: 'assets_eu', serviceAccountKey, prefix: 'a/b' } as const
    expect(await sandbox.mount(bucket(config), '/gcs')).toMatchObject({ success: true })
    expect(await sandbox.mount(bucket({ type: 'gcs', bucket: 'public' }), '/public')).toMatchObject({ success: true })

    const [withKey = [], anonymous = []] = await mountCommands(sandbox)
    expect(withKey).toEqual(expect.arrayContaining(['--only-dir=a/b', 'assets_eu', '/gcs']))
    expect(withKey).not.toContain('ro')
    expect(anonymous).toEqual(expect.arrayContaining(['--anonymous-access', 'ro', 'public', '/public']))
    expect(await credentialsSeen(sandbox)).toContain(serviceAccountKey)
  })

  test.each([
    ['a key', { accountName: 'acct', accountKey: SECRET }, { mode: 'key', 'account-key': SECRET }],
    ['a token', { accountName: 'acct', sasToken: '?sv=1&sig=abc%3D' }, { mode: 'sas', sas: 'sv=1&sig=abc%3D' }],
    ['a managed identity', { accountName: 'acct', useDefaultCredential: true, accountKey: SECRET }, { mode: 'msi' }],
    [
      'a connection string',
      { connectionString: `AccountName=acct;AccountKey=${SECRET};EndpointSuffix=core.example` },
      { mode: 'key', 'account-key': SECRET, endpoint: 'https://acct.blob.core.example' },
    ],
  ])('Azure Blob: %s', async (_, access, expected) => {
    const config = { type: 'azure-blob', container: 'assets', prefix: 'a/b', ...access }
    expect(await sandbox.mount(bucket(config), '/azure')).toMatchObject({ success: true })

    const [words = []] = await mountCommands(sandbox)
    expect(words.slice(0, 3)).toEqual(['blobfuse2', 'mount', '/azure'])
    const [about = '', content = ''] = (await credentialsSeen(sandbox)).split('\n')
    expect(about).toMatch(/^600 root .*\.yaml$/)
    expect(JSON.parse(content)).toMatchObject({
      'read-only': false,
      azstorage: { 'account-name': 'acct', container: 'assets', subdirectory: 'a/b', ...expected },
    })
  })

  const lacked = 'a program the template lacks is installed, once for two mounts at a time'
  const present = hostHasS3fs ? " (skipped: this machine's s3fs shows in the template)" : ''
  test.skipIf(hostHasS3fs)(`${lacked}${present}`, async () => {
    await asRoot(sandbox, 'rm /usr/local/bin/s3fs')
    const results = await Promise.all(['/one', '/two'].map((path) => sandbox.mount(s3(), path)))
    expect(results).toEqual([
      { success: true, mountPath: '/one' },
      { success: true, mountPath: '/two' },
    ])
    expect((await installed(sandbox)).match(/install .*s3fs/g)).toHaveLength(1)
  })

  test('mounts at once have credentials of their own, and unmounting one leaves the others', async () => {
    const paths = ['/m1', '/m2', '/m3', '/m4', '/m5']
    const results = await Promise.all(
      paths.map((path) => sandbox.mount(s3({ accessKeyId: `AKIA${path.slice(1)}` }), path)),
    )
    expect(results.every(({ success }) => success)).toBe(true)
    const files = (await mountCommands(sandbox)).map((words) => words.find((word) => word.startsWith('passwd_file=')))
    expect(new Set(files).size).toBe(5)
    for (const path of paths) expect(await credentialsSeen(sandbox)).toContain(`AKIA${path.slice(1)}:`)

    await sandbox.unmount('/m3')
    expect((await mounted(sandbox)).toSorted()).toEqual(['/m1', '/m2', '/m4', '/m5'])
    expect((await kept(sandbox)).filter((name) => name.includes('credentials'))).toHaveLength(4)
    expect(sandbox.mounts.has('/m3')).toBe(false)
    expect((await sandbox.executeCommand('ls -d /m3')).exitCode).not.toBe(0)
  })

  test.each([
    ['the program fails', 'broken', /s3fs ended with 7/],
    ['nothing is mounted in the end', 'silent', /nothing is mounted/],
  ])(
    '%s: told without the credentials, and nothing is left',
    async (_, name, message) => {
      const result = await sandbox.mount(s3({ bucket: name }), '/data')
      expect(result).toMatchObject({ success: false, error: expect.stringMatching(message) })
      expect(JSON.stringify([result, [...sandbox.mounts.entries]])).not.toContain(SECRET)
      expect((await kept(sandbox)).filter((file) => file !== 'install.lock')).toEqual([])
      expect((await sandbox.executeCommand('ls -d /data')).exitCode).not.toBe(0)
      expect(sandbox.mounts.get('/data')).toMatchObject({ state: 'error' })
    },
    60_000,
  )

  test('a mount is found again by another process, made anew for another key, and refused over files', async () => {
    await sandbox.mount(s3(), '/data')
    const elsewhere = platform.sandbox({ id: sandbox.id })
    await elsewhere.start()
    expect(await elsewhere.mount(s3(), '/data')).toMatchObject({ success: true })
    expect(await mountCommands(sandbox)).toHaveLength(1)

    expect(await elsewhere.mount(s3({ secretAccessKey: 'rotated' }), '/data')).toMatchObject({ success: true })
    expect(await mountCommands(sandbox)).toHaveLength(2)
    expect(await mounted(sandbox)).toEqual(['/data'])
    expect(await credentialsSeen(sandbox)).toContain('AKIA1:rotated')

    await sandbox.executeCommand('mkdir -p work && touch work/file')
    expect(await sandbox.mount(s3(), '/home/user/work')).toMatchObject({
      success: false,
      error: expect.stringMatching(/not empty/),
    })
  })

  test('reconciling removes our mounts that nobody expects, and never those of others', async () => {
    await sandbox.mount(s3(), '/kept')
    await sandbox.mount(s3(), '/stale')
    await asRoot(sandbox, 'echo /theirs >>/var/stand-in/mounts')

    await sandbox.reconcileMounts(['/kept'])
    expect((await mounted(sandbox)).toSorted()).toEqual(['/kept', '/theirs'])
    await sandbox.unmount('/theirs')
    expect((await mounted(sandbox)).toSorted()).toEqual(['/kept', '/theirs'])
    expect(await sandbox.mount(s3(), '/theirs')).toMatchObject({ success: false })
  })

  test('a stop unmounts before it pauses, and the next start mounts again', async () => {
    await sandbox.mount(s3(), '/data')
    await sandbox._stop()
    expect(sandbox.mounts.get('/data')).toMatchObject({ state: 'pending' })

    await sandbox.start()
    expect(sandbox.mounts.get('/data')).toMatchObject({ state: 'mounted' })
    expect(await mountCommands(sandbox)).toHaveLength(2)
    expect(await mounted(sandbox)).toEqual(['/data'])
  })

  const words = [
    `a'b`,
    'a"b',
    '$(touch /tmp/canary)',
    'a;touch /tmp/canary',
    'a\nb',
    '-o',
    '`touch /tmp/canary`',
    'a,b',
  ]
  test.each([
    ['bucket', (word: string) => s3({ bucket: word }), () => '/data'],
    ['region', (word: string) => s3({ region: word }), () => '/data'],
    ['endpoint', (word: string) => s3({ endpoint: `https://h/${word}` }), () => '/data'],
    ['prefix', (word: string) => s3({ prefix: word }), () => '/data'],
    ['path', () => s3(), (word: string) => `/srv/${word}`],
    ['key', (word: string) => s3({ secretAccessKey: word }), () => '/data'],
  ])('whatever the %s is, it is taken as it is or refused, and runs nothing', async (_, filesystemOf, pathOf) => {
    const taken: string[] = []
    for (const word of words) {
      const path = pathOf(word)
      const { success } = await sandbox.mount(filesystemOf(word), path)
      expect(await mounted(sandbox)).toEqual(success ? [path] : [])
      if (success) taken.push(path)
      await sandbox.reconcileMounts([])
    }
    expect((await mountCommands(sandbox)).map((command) => command[2])).toEqual(taken)
    expect(await asRoot(sandbox, 'ls /tmp/canary 2>/dev/null || true')).toBe('')
  })

  test.each(['/', '/etc', 'data', '/a/../etc', '/home/user', ''])('%j is no place for a mount', async (path) => {
    expect(await sandbox.mount(s3(), path)).toMatchObject({ success: false })
    expect(await mountCommands(sandbox)).toEqual([])
  })

  test.each([
    ['readonly', { readonly: true }, /no 'readonly' .*'readOnly'/],
    ['a readOnly in words', { readOnly: 'yes' }, /readOnly is neither/],
    ['a misspelt key', { secretAccesKey: 'x' }, /'secretAccessKey'/],
  ])('%s is told, and nothing is mounted', async (_, config, message) => {
    const filesystem = bucket({ type: 's3', bucket: 'assets', region: 'eu-central-1', ...config })

    expect(await sandbox.mount(filesystem, '/data')).toEqual({
      success: false,
      mountPath: '/data',
      error: expect.stringMatching(message),
    })
    expect(await mountCommands(sandbox)).toEqual([])
  })

  test('what a file system tells beyond a mount is left alone', async () => {
    const config = { type: 's3', bucket: 'assets', region: 'eu-central-1', displayName: 'Assets', sessionToken: 'x' }

    expect(await sandbox.mount(bucket(config), '/data')).toMatchObject({ success: true })
  })

  test.each([
    ['throws', () => JSON.parse('{}').bucket.name, undefined],
    ['answers null', () => null, true],
    ['answers a text', () => 's3', undefined],
  ])('a getMountConfig that %s is told', async (_, getMountConfig, isUnavailable) => {
    const filesystem = new LocalFilesystem({ basePath: '/nowhere' })
    Object.defineProperty(filesystem, 'getMountConfig', { value: getMountConfig })

    const result = await sandbox.mount(filesystem, '/data')

    expect(result).toMatchObject({ success: false, error: expect.any(String) })
    expect(result.unavailable).toBe(isUnavailable)
  })

  test('what cannot be mounted here is told as unavailable', async () => {
    expect(await sandbox.mount(bucket({ type: 'ftp' }), '/data')).toMatchObject({ success: false, unavailable: true })
    expect(
      await sandbox.mount(bucket({ type: 's3', bucket: 'assets', region: 'r', endpoint: 'https://h' }), '/d'),
    ).toMatchObject({
      success: false,
      error: expect.stringMatching(/needs credentials/),
    })
  })
})
