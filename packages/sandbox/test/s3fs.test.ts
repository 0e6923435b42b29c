import { LocalFilesystem, type WorkspaceFilesystem } from '@mastra/core/workspace'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { FuseMachine, withoutS3fs } from './support/fuse-machine.ts'
import { type FakeE2B, platform, sandboxOf } from './support/index.ts'
import { openS3Service, type S3Service } from './support/s3-service.ts'

const ACCESS_KEY = 'AKIA1'
const reason = await withoutS3fs()

describe.skipIf(reason !== undefined)(`the real s3fs${reason === undefined ? '' : ` (skipped: ${reason})`}`, () => {
  let machine: FuseMachine
  let service: S3Service
  let e2b: FakeE2B

  beforeEach(async () => {
    ;[machine, service] = await Promise.all([FuseMachine.open(), openS3Service(ACCESS_KEY)])
    service.objects.set('hello.txt', Buffer.from('hello'))
    e2b = platform()
    e2b.onStart = (process, sandbox) => void machine.play(process, sandbox)
  })
  afterEach(() => Promise.all([machine.close(), service.close()]))

  function bucket(config: Record<string, unknown> = {}): WorkspaceFilesystem {
    const filesystem = new LocalFilesystem({ basePath: '/nowhere' })
    const whole = {
      type: 's3',
      bucket: 'assets',
      region: 'eu-central-1',
      endpoint: service.url,
      accessKeyId: ACCESS_KEY,
      secretAccessKey: 's3cr3t/key+with=signs',
      ...config,
    }
    Object.defineProperty(filesystem, 'getMountConfig', { value: () => whole })
    return filesystem
  }

  test('mounts a bucket, which commands read and write, and lets go of it', async () => {
    const sandbox = sandboxOf()

    expect(await sandbox.mount(bucket(), '/mnt/data')).toEqual({ success: true, mountPath: '/mnt/data' })

    const read = await sandbox.executeCommand('cat /mnt/data/hello.txt && printf new >/mnt/data/new.txt')
    expect(read).toMatchObject({ exitCode: 0, stdout: 'hello' })
    expect(service.objects.get('new.txt')?.toString()).toBe('new')
    await sandbox.unmount('/mnt/data')
    expect(await sandbox.executeCommand('ls -A /mnt; ls /var/lib/warmbox/mounts')).toMatchObject({ stdout: '' })
  })

  test('mounts it read-only where that is asked for', async () => {
    const sandbox = sandboxOf()

    expect(await sandbox.mount(bucket({ readOnly: true }), '/mnt/data')).toMatchObject({ success: true })

    const write = await sandbox.executeCommand('cat /mnt/data/hello.txt; printf new >/mnt/data/new.txt')
    expect(write).toMatchObject({ exitCode: 1, stdout: 'hello', stderr: expect.stringContaining('Read-only') })
  })

  test.each([
    ['whose key is refused', { accessKeyId: 'AKIA2' }],
    ['that does not exist', { bucket: 'nowhere' }],
  ])('tells of a bucket %s, and leaves nothing', async (_, config) => {
    const sandbox = sandboxOf()

    const result = await sandbox.mount(bucket(config), '/mnt/data')

    expect(result).toMatchObject({ success: false, error: expect.stringContaining('could not be mounted') })
    expect(await sandbox.executeCommand('ls -A /mnt; ls /var/lib/warmbox/mounts')).toMatchObject({ stdout: '' })
  })
})
