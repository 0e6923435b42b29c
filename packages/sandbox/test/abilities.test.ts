import { describe, expect, test } from 'vitest'
import { E2BSandbox } from '@warmbox/sandbox'
import { connection, DOMAIN, failure, platform, sandboxOf } from './support/index.ts'

describe('getInfo', () => {
  test('tells what E2B knows of a running sandbox', async () => {
    const e2b = platform()
    const sandbox = sandboxOf({ id: 'session-1', metadata: { team: 'a' } })
    await sandbox.start()

    const info = await sandbox.getInfo()

    expect(info).toMatchObject({
      id: 'session-1',
      name: 'E2BSandbox',
      provider: 'e2b',
      status: 'running',
      createdAt: e2b.only.startedAt,
      timeoutAt: new Date(e2b.only.startedAt.getTime() + 300_000),
      resources: { cpuCores: 2, memoryMB: 1024 },
      metadata: { team: 'a', sandboxId: e2b.only.id, template: 'warm:v1', state: 'running' },
    })
  })

  test('of a paused sandbox has no timeout and wakes nothing', async () => {
    const e2b = platform()
    const sandbox = sandboxOf()
    await sandbox.start()
    await sandbox._stop()

    const info = await sandbox.getInfo()

    expect(info).toMatchObject({ status: 'stopped', metadata: { state: 'paused' } })
    expect(info).not.toHaveProperty('timeoutAt')
    expect(e2b.only.state).toBe('paused')
  })

  test('before a start and after the end asks nobody or finds nothing', async () => {
    const e2b = platform()
    const sandbox = sandboxOf({ id: 'session-1' })

    expect(await sandbox.getInfo()).toMatchObject({ status: 'pending', createdAt: expect.any(Date) })
    expect(e2b.requests).toEqual([])
    await sandbox.start()
    e2b.sandboxes.clear()
    expect(await sandbox.getInfo()).toMatchObject({ id: 'session-1' })
  })
})

describe('networking', () => {
  test('gives the public URL of a port while the sandbox runs', async () => {
    const e2b = platform()
    const sandbox = sandboxOf()

    expect(await sandbox.networking.getPortUrl(3000)).toBeNull()
    expect(e2b.requests).toEqual([])
    await sandbox.start()
    expect(await sandbox.networking.getPortUrl(3000)).toBe(`https://3000-${e2b.only.id}.${DOMAIN}`)
    await sandbox._stop()
    expect(await sandbox.networking.getPortUrl(3000)).toBe(`https://3000-${e2b.only.id}.${DOMAIN}`)
    expect(e2b.only).toMatchObject({ state: 'paused', connects: [] })
    await sandbox._destroy()
    expect(await sandbox.networking.getPortUrl(3000)).toBeNull()
  })

  test('gives that of a sandbox started elsewhere, paused or not, and wakes nothing', async () => {
    const e2b = platform()
    const { id } = e2b.add({ state: 'paused', metadata: { 'mastra-sandbox-id': 'session-1' } })

    expect(await sandboxOf({ id: 'session-1' }).networking.getPortUrl(3000)).toBe(`https://3000-${id}.${DOMAIN}`)
    expect(await sandboxOf({ id: 'session-2' }).networking.getPortUrl(3000)).toBeNull()
    expect(await sandboxOf().networking.getPortUrl(3000)).toBeNull()
    expect(e2b.only).toMatchObject({ state: 'paused', connects: [] })
  })

  test.each([
    ['http://127.0.0.1:4983', 'http://3000-sbx1.localhost:4983'],
    ['http://localhost:80', 'http://3000-sbx1.localhost'],
    ['http://[::1]:4983', 'http://3000-sbx1.localhost:4983'],
    ['https://e2b.internal.example:8443', `https://3000-sbx1.${DOMAIN}`],
    ['http://127.0.0.1.example.com', `https://3000-sbx1.${DOMAIN}`],
  ])('below %s is %s', async (sandboxUrl, url) => {
    const e2b = platform()
    e2b.add({ metadata: { 'mastra-sandbox-id': 'session-1' } })

    expect(await sandboxOf({ id: 'session-1', sandboxUrl }).networking.getPortUrl(3000)).toBe(url)
  })

  test.each([0, 65_536, 1.5, Number.NaN])('refuses the port %s', async (port) => {
    platform()

    expect(await failure(sandboxOf().networking.getPortUrl(port))).toMatchObject({ code: 'INVALID_OPTION' })
  })
})

describe('writeFiles', () => {
  test('uploads text and bytes in one request', async () => {
    const e2b = platform()
    const sandbox = sandboxOf()

    await sandbox.writeFiles([
      { path: '/app/a.txt', content: 'grüße' },
      { path: '/app/b.bin', content: Buffer.from([0, 255]) },
    ])

    expect(e2b.only.files).toEqual(
      new Map([
        ['/app/a.txt', Buffer.from('grüße')],
        ['/app/b.bin', Buffer.from([0, 255])],
      ]),
    )
    expect(e2b.paths('POST').filter((path) => path === '/files')).toHaveLength(1)
    expect(e2b.only.processes.size).toBe(0)
  })

  test('gives a file its mode before its content arrives, and again afterwards', async () => {
    const e2b = platform()
    const steps: string[] = []
    e2b.onStart = (process) => {
      steps.push(process.command)
      process.exit(0)
    }
    e2b.faults.push(({ path }) => {
      if (path === '/files') steps.push('upload')
      return undefined
    })

    await sandboxOf({ workingDirectory: '/srv' }).writeFiles([
      { path: `/home/user/it's/key`, content: 'secret', mode: 0o600 },
      { path: 'plain', content: '' },
    ])

    const file = `'/home/user/it'\\''s/key'`
    expect(steps).toEqual([
      expect.stringMatching(/mkdir -p '\/home\/user\/it'\\''s' .*\numask 077\n/),
      'upload',
      expect.stringContaining(`chmod 600 ${file}`),
    ])
    expect(steps[0]?.endsWith(`make 600 ${file}`)).toBe(true)
  })

  test.each([
    [81, 'directories'],
    [82, 'no directory'],
    [83, 'not full'],
    [84, 'Leave out the mode'],
    [1, 'run commands'],
  ])('says where a mode could not be set, and what to do about it: %i', async (exitCode, hint) => {
    const e2b = platform()
    e2b.onStart = (process) => process.stderr('chmod: denied').exit(exitCode)

    const error = await failure(sandboxOf().writeFiles([{ path: '/etc/key', content: '', mode: 0o600 }]))

    expect(error).toMatchObject({
      message: 'Setting file modes failed: chmod: denied',
      hint: expect.stringContaining(hint),
    })
    expect(e2b.only.files.size).toBe(0)
  })

  test.each([0, 0o1000, 1.5, -1])('refuses the mode %s before any request', async (mode) => {
    const e2b = platform()

    const error = await failure(sandboxOf().writeFiles([{ path: '/a', content: '', mode }]))

    expect(error).toMatchObject({ code: 'INVALID_OPTION' })
    expect(e2b.requests).toEqual([])
  })

  test.each([
    ['what is no list', JSON.parse('{}')],
    ['a hole', Array.from({ length: 1 })],
    ['a file without a path', [{ content: '' }]],
    ['a path that is none', [{ path: 5, content: '' }]],
    ['a path with NUL', [{ path: 'a\0b', content: '' }]],
    ['a path Linux has no room for', [{ path: 'x'.repeat(4096), content: '' }]],
    ['the home of somebody else', [{ path: '~root/.netrc', content: '' }]],
    ['a number as content', [{ path: '/a', content: 5 }]],
    ['an object as content', [{ path: '/a', content: { hunter2: 1 } }]],
    ['no content', [{ path: '/a' }]],
    ['a misspelt mode', [{ path: '/a', content: '', mod: 0o600 }]],
    ['a mode in words', [{ path: '/a', content: '', mode: '0600' }]],
  ])('refuses %s before any request', async (_, files) => {
    const e2b = platform()

    const error = await failure(sandboxOf().writeFiles(files))

    expect(error).toMatchObject({ code: 'INVALID_OPTION', hint: expect.any(String) })
    expect(JSON.stringify(error)).not.toContain('hunter2')
    expect(e2b.requests).toEqual([])
  })

  test('writes the bytes a view shows, as they were when it was called', async () => {
    const e2b = platform()
    const bytes = Buffer.from('_secret_').subarray(1, 7)
    const writing = sandboxOf().writeFiles([{ path: '/a', content: bytes }])
    bytes.fill(0)

    await writing
    expect(e2b.only.files.get('/a')?.toString()).toBe('secret')
  })

  test('sets the modes of many files in scripts that are no longer than an argument may be', async () => {
    const e2b = platform()
    const lengths: number[] = []
    e2b.onStart = (process) => {
      lengths.push(Buffer.byteLength(process.command))
      process.exit(0)
    }
    const files = Array.from({ length: 2_000 }, (_, index) => ({
      path: `/home/user/${`'`.repeat(50)}/${index}`,
      content: '',
      mode: 0o600,
    }))

    await sandboxOf().writeFiles(files)

    expect(e2b.only.files.size).toBe(2_000)
    expect(lengths.length).toBeLessThan(50)
    expect(Math.max(...lengths)).toBeLessThan(131_072)
  })

  test('with a signal that has fired writes nothing', async () => {
    const e2b = platform()
    const abortSignal = AbortSignal.abort('no')

    const error = await failure(sandboxOf().writeFiles([{ path: '/a', content: '' }], { abortSignal }))

    expect(error).toMatchObject({ code: 'ABORTED', cause: 'no' })
    expect(e2b.requests).toEqual([])
  })
})

describe('mounts', () => {
  test.each([
    ['no file system', (sandbox: E2BSandbox) => sandbox.mount(JSON.parse('null'), '/data')],
    ['no path to unmount', (sandbox: E2BSandbox) => sandbox.unmount(JSON.parse('null'))],
    ['no paths to keep', (sandbox: E2BSandbox) => sandbox.reconcileMounts(JSON.parse('null'))],
    ['a path that is none', (sandbox: E2BSandbox) => sandbox.reconcileMounts(JSON.parse('[5]'))],
  ])('%s is refused before any request', async (_, use) => {
    const e2b = platform()

    expect(await failure(use(sandboxOf()))).toMatchObject({ code: 'INVALID_OPTION', hint: expect.any(String) })
    expect(e2b.requests).toEqual([])
  })
})

describe('getInstructions', () => {
  test('describes the sandbox', () => {
    expect(sandboxOf().getInstructions()).toContain('/home/user')
    expect(sandboxOf({ workingDirectory: '/srv/app' }).getInstructions()).toContain('/srv/app')
  })

  test('can be replaced or extended', () => {
    expect(sandboxOf({ instructions: 'mine' }).getInstructions()).toBe('mine')
    expect(sandboxOf({ instructions: '' }).getInstructions()).toBe('')
    const extended = sandboxOf({ instructions: ({ defaultInstructions }) => `${defaultInstructions} Be quick.` })
    expect(extended.getInstructions()).toMatch(/bash.* Be quick\.$/)
  })
})

describe('clone', () => {
  test('has the configuration but its own identity', async () => {
    const e2b = platform()
    const original = sandboxOf({ id: 'session-1', sandboxId: 'sbx-old', timeout: 60_000, env: { A: '1', B: '1' } })

    const clone = original.clone({ id: 'session-2', env: { B: '2' }, idleTimeoutMinutes: 10, workingDirectory: '/srv' })
    await clone.start()

    expect(clone.id).toBe('session-2')
    expect(clone.workingDirectory).toBe('/srv')
    expect(e2b.only).toMatchObject({
      template: 'warm:v1',
      metadata: { 'mastra-sandbox-id': 'session-2' },
      create: { timeout: 600, envVars: { A: '1', B: '2' } },
    })
    expect(original.status).toBe('pending')
  })

  test('without an id gets a new one; with a sandboxId takes that sandbox over', async () => {
    const e2b = platform()
    const running = e2b.add()
    const original = sandboxOf({ id: 'session-1' })

    expect(original.clone().id).not.toBe('session-1')
    const clone = original.clone({ sandboxId: running.id })
    await clone.start()
    expect(clone.sandboxId).toBe(running.id)
  })

  test('of a subclass is one of the same class', () => {
    class Desktop extends E2BSandbox {}

    expect(new Desktop(connection).clone()).toBeInstanceOf(Desktop)
  })
})

test('the deprecated names still answer', async () => {
  platform()
  const sandbox = sandboxOf()

  expect(await sandbox.isReady()).toBe(false)
  await sandbox.start()
  expect(await sandbox.isReady()).toBe(true)
  expect(sandbox.instance).toBe(sandbox.e2b)
})
