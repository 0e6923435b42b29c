import { gzipSync } from 'node:zlib'
import { AuthenticationError, FileNotFoundError, InvalidArgumentError, NotEnoughSpaceError } from 'e2b'
import { describe, expect, test, vi } from 'vitest'
import { createManualClock } from '../../src/clock.ts'
import { RuntimeError } from '../../src/runtime/port.ts'
import { startEnvd } from './support/harness.ts'

const octets = { 'content-type': 'application/octet-stream' }

describe('writing', () => {
  test.each([
    ['as a form', {}],
    ['as a stream', { useOctetStream: true }],
    ['compressed', { gzip: true }],
  ])('a file arrives %s', async (_name, options) => {
    const { sandbox } = await startEnvd()
    const written = await sandbox.files.write('/srv/file.txt', 'some text', { user: 'root', ...options })
    expect(written).toMatchObject({ name: 'file.txt', path: '/srv/file.txt', type: 'file' })
    await expect(sandbox.files.read('/srv/file.txt')).resolves.toBe('some text')
    await expect(sandbox.files.getInfo('/srv/file.txt')).resolves.toMatchObject({ owner: 'root' })
  })

  test('several files in one request keep their own paths [D27]', async () => {
    const { sandbox } = await startEnvd()
    const written = await sandbox.files.write([
      { path: 'a/one', data: '1' },
      { path: '/tmp/two', data: new Blob(['2']) },
    ])
    expect(written.map(({ path }) => path)).toEqual(['/home/user/a/one', '/tmp/two'])
    await expect(sandbox.files.read('/tmp/two')).resolves.toBe('2')
  })

  test('the same path twice in one request is refused after the first [D27]', async () => {
    const { sandbox } = await startEnvd()
    const twice = sandbox.files.write([
      { path: '/tmp/same', data: '1' },
      { path: '/tmp/../tmp/same', data: '2' },
    ])
    await expect(twice).rejects.toBeInstanceOf(InvalidArgumentError)
    await expect(sandbox.files.read('/tmp/same')).resolves.toBe('1')
  })

  test('an empty file is a file', async () => {
    const { sandbox, fetch } = await startEnvd()
    await sandbox.files.write('/tmp/empty', '')
    await expect(sandbox.files.read('/tmp/empty')).resolves.toBe('')
    expect((await fetch('/files?path=/tmp/empty')).headers.get('content-length')).toBe('0')
    expect((await fetch('/files?path=/tmp/none', { method: 'POST', headers: octets })).status).toBe(200)
  })

  test('writing over a directory, and to no path, are bad requests [D28]', async () => {
    const { sandbox, fetch } = await startEnvd()
    await expect(sandbox.files.write('/tmp', 'x')).rejects.toBeInstanceOf(InvalidArgumentError)
    const nowhere = await fetch('/files', { method: 'POST', headers: octets, body: 'x' })
    expect(nowhere.status).toBe(400)
    expect(await nowhere.json()).toEqual({ code: 400, message: 'path query parameter is required for raw body upload' })
  })

  test('other content types and encodings are refused [D27]', async () => {
    const { fetch } = await startEnvd()
    const post = (headers: Record<string, string>) =>
      fetch('/files?path=/tmp/x', { method: 'POST', headers, body: '{}' })
    expect((await post({ 'content-type': 'application/json' })).status).toBe(400)
    expect((await post({ ...octets, 'content-encoding': 'br' })).status).toBe(400)
  })

  test('a form that is none is an error, not a crash', async () => {
    const { fetch } = await startEnvd()
    const response = await fetch('/files', {
      method: 'POST',
      headers: { 'content-type': 'multipart/form-data; boundary=x' },
      body: 'not a form',
    })
    expect(response.status).toBe(500)
    expect(await response.json()).toEqual({ code: 500, message: 'error parsing multipart form' })
  })

  test('a full disk is told as such [D28]', async () => {
    const { sandbox, machine } = await startEnvd()
    vi.spyOn(machine.files, 'write').mockRejectedValue(new RuntimeError('no-space', 'no space left on device'))
    await expect(sandbox.files.write('/tmp/x', 'x')).rejects.toBeInstanceOf(NotEnoughSpaceError)
  })

  test('metadata is refused rather than lost', async () => {
    const { sandbox } = await startEnvd()
    await expect(sandbox.files.write('/tmp/x', 'x', { metadata: { a: 'b' } })).rejects.toThrow(
      '501: file metadata is not emulated',
    )
  })
})

describe('reading', () => {
  test('what is not there, and a directory, are errors [D28]', async () => {
    const { sandbox } = await startEnvd()
    await expect(sandbox.files.read('/nowhere')).rejects.toBeInstanceOf(FileNotFoundError)
    await expect(sandbox.files.read('/tmp')).rejects.toBeInstanceOf(InvalidArgumentError)
  })

  test('a user that does not exist may not read or write [D3]', async () => {
    const { sandbox } = await startEnvd()
    await expect(sandbox.files.read('/etc/passwd', { user: 'nobody-here' })).rejects.toBeInstanceOf(AuthenticationError)
    await expect(sandbox.files.write('/tmp/x', 'x', { user: 'nobody-here' })).rejects.toBeInstanceOf(
      AuthenticationError,
    )
  })

  test('a client that accepts gzip gets it, and the SDK gets its text either way [D29]', async () => {
    const { sandbox, fetch } = await startEnvd()
    await sandbox.files.write('/tmp/long', 'again and '.repeat(1000))
    await expect(sandbox.files.read('/tmp/long', { gzip: true })).resolves.toBe('again and '.repeat(1000))
    const plain = await fetch('/files?path=/tmp/long')
    expect(plain.headers.get('content-encoding')).toBeNull()
    expect(plain.headers.get('content-length')).toBe('10000')
    const packed = await fetch('/files?path=/tmp/long', { headers: { 'accept-encoding': 'br;q=1, gzip;q=0.5' } })
    expect(packed.headers.get('content-encoding')).toBe('gzip')
    expect(packed.headers.get('vary')).toBe('Accept-Encoding')
    expect(Buffer.from(await packed.arrayBuffer()).subarray(0, 2)).toEqual(gzipSync('').subarray(0, 2))
    const neither = await fetch('/files?path=/tmp/long', { headers: { 'accept-encoding': 'br, identity;q=0' } })
    expect(neither.status).toBe(400)
  })

  test.each([
    ['bytes=2-4', 206, 'cde', 'bytes 2-4/10'],
    ['bytes=7-', 206, 'hij', 'bytes 7-9/10'],
    ['bytes=-2', 206, 'ij', 'bytes 8-9/10'],
    ['bytes=8-99', 206, 'ij', 'bytes 8-9/10'],
    ['bytes=1-2,4-5', 200, 'abcdefghij', null],
  ])('a range %s', async (range, status, text, contentRange) => {
    const { sandbox, fetch } = await startEnvd()
    await sandbox.files.write('/tmp/letters', 'abcdefghij')
    const response = await fetch('/files?path=/tmp/letters', { headers: { range } })
    expect(response.status).toBe(status)
    expect(response.headers.get('content-range')).toBe(contentRange)
    expect(await response.text()).toBe(text)
  })

  test('a range outside the file cannot be satisfied [D29]', async () => {
    const { sandbox, fetch } = await startEnvd()
    await sandbox.files.write('/tmp/letters', 'abc')
    const response = await fetch('/files?path=/tmp/letters', { headers: { range: 'bytes=3-' } })
    expect(response.status).toBe(416)
    expect(response.headers.get('content-range')).toBe('bytes */3')
  })

  test('a file that grew since it was measured keeps to the length that was announced', async () => {
    const { sandbox, machine, fetch } = await startEnvd()
    await sandbox.files.write('/tmp/log', 'one')
    const entry = await machine.files.stat('/tmp/log')
    await sandbox.files.write('/tmp/log', 'one and more')
    vi.spyOn(machine.files, 'stat').mockResolvedValue(entry)
    const response = await fetch('/files?path=/tmp/log')
    expect(response.headers.get('content-length')).toBe('3')
    expect(await response.text()).toBe('one')
  })
})

describe('a secured sandbox', () => {
  const accessToken = 'secret-of-the-sandbox'

  test('answers its token, and nobody without [D2]', async () => {
    const { sandbox, sandboxWith } = await startEnvd({ accessToken })
    await expect(sandbox.commands.run('echo hello')).resolves.toMatchObject({ stdout: 'hello\n' })
    await sandbox.files.write('/tmp/file', 'x')
    for (const stranger of [sandboxWith(), sandboxWith({ envdAccessToken: 'guess' })]) {
      await expect(stranger.commands.run('echo hello')).rejects.toBeInstanceOf(AuthenticationError)
      await expect(stranger.files.list('/tmp')).rejects.toBeInstanceOf(AuthenticationError)
      await expect(stranger.files.read('/tmp/file')).rejects.toBeInstanceOf(AuthenticationError)
      await expect(stranger.files.write('/tmp/file', 'y')).rejects.toBeInstanceOf(AuthenticationError)
      await expect(stranger.isRunning()).resolves.toBe(true)
    }
    await expect(sandbox.files.read('/tmp/file')).resolves.toBe('x')
  })

  test('a refusal never repeats a token [D2]', async () => {
    const { fetch } = await startEnvd({ accessToken })
    const response = await fetch('/metrics', { headers: { 'X-Access-Token': 'guess' } })
    expect(response.status).toBe(401)
    expect(await response.json()).toEqual({
      code: 401,
      message: 'unauthorized access, please provide a valid access token or method signing if supported',
    })
  })

  test('signed URLs read and write without the token, each only what it was made for [D4]', async () => {
    const { sandbox, url } = await startEnvd({ accessToken })
    const uploadUrl = await sandbox.uploadUrl('/tmp/file', { user: 'root' })
    const put = await fetch(uploadUrl, { method: 'POST', headers: octets, body: 'signed' })
    expect(put.status).toBe(200)
    const downloadUrl = await sandbox.downloadUrl('/tmp/file')
    expect(new URL(downloadUrl).origin).toBe(url)
    expect(await (await fetch(downloadUrl)).text()).toBe('signed')
    for (const tampered of [
      downloadUrl.replace('file', 'other'),
      `${downloadUrl}&username=root`,
      uploadUrl,
      downloadUrl.replace(/signature=[^&]+/, ''),
    ]) {
      const response = await fetch(tampered)
      expect(response.status).toBe(401)
    }
  })

  test('a signature expires by the clock of the emulator [D4]', async () => {
    const clock = createManualClock(Date.now())
    const { sandbox, fetch: call } = await startEnvd({ accessToken, clock })
    await sandbox.files.write('/tmp/file', 'x')
    const { pathname, search } = new URL(await sandbox.downloadUrl('/tmp/file', { useSignatureExpiration: 60 }))
    expect((await call(pathname + search)).status).toBe(200)
    clock.advance(120_000)
    const late = await call(pathname + search)
    expect(late.status).toBe(401)
    expect(await late.json()).toEqual({ code: 401, message: 'signature is already expired' })
  })
})

describe('the other routes', () => {
  test('health answers without content [D7]', async () => {
    const { fetch } = await startEnvd({ accessToken: 'secret' })
    expect((await fetch('/health')).status).toBe(204)
  })

  test('envs are those every process gets [D9]', async () => {
    const { fetch } = await startEnvd({ envs: { A: '1' } })
    expect(await (await fetch('/envs')).json()).toEqual({ E2B_SANDBOX: 'true', E2B_SANDBOX_ID: 'sandbox-1', A: '1' })
  })

  test('metrics report the size of the sandbox', async () => {
    const { fetch } = await startEnvd({ resources: { cpuCount: 4, memoryMB: 2048 } })
    expect(await (await fetch('/metrics')).json()).toMatchObject({ cpu_count: 4, mem_total: 2048 * 1024 * 1024 })
  })

  test('what the platform keeps to itself is not found, what is not emulated says so [D8]', async () => {
    const { fetch } = await startEnvd()
    const init = await fetch('/init', { method: 'POST' })
    expect(init.status).toBe(404)
    expect(await init.json()).toMatchObject({ path: '/init', code: 404 })
    const compose = await fetch('/files/compose', { method: 'POST' })
    expect(compose.status).toBe(501)
    expect(await compose.json()).toEqual({ code: 501, message: 'not emulated: POST /files/compose of envd' })
    const remove = await fetch('/files?path=/tmp', { method: 'DELETE' })
    expect(remove.status).toBe(405)
    expect(remove.headers.get('allow')).toBe('GET, POST')
  })

  test('a sandbox that does not run answers as the proxy of the platform does [D5]', async () => {
    const { envd } = await startEnvd()
    const response = await envd.handle(new Request('http://envd/health'), 'another')
    expect(response.status).toBe(502)
    expect(await response.json()).toEqual({ sandboxId: 'another', message: 'The sandbox was not found', code: 502 })
  })
})
