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

  test('a body that claims to be compressed and is not is refused, and nothing is written', async () => {
    const { fetch, sandbox } = await startEnvd()
    const headers = { ...octets, 'content-encoding': 'gzip' }
    const response = await fetch('/files?path=/tmp/x', { method: 'POST', headers, body: 'not gzip' })
    expect(response.status).toBe(400)
    await expect(sandbox.files.exists('/tmp/x')).resolves.toBe(false)
  })
})

describe('metadata of files', () => {
  test.each([
    ['a form', {}],
    ['a stream', { useOctetStream: true }],
    ['a compressed body', { gzip: true }],
  ])('comes back with every look at a file written as %s [D30]', async (_name, options) => {
    const { sandbox } = await startEnvd()
    const metadata = { 'Report-Kind': 'daily', empty: '' }
    const kept = { 'report-kind': 'daily', empty: '' }
    await expect(sandbox.files.write('/tmp/x/one', '1', { metadata, ...options })).resolves.toMatchObject({
      metadata: kept,
    })
    await expect(sandbox.files.getInfo('/tmp/x/one')).resolves.toMatchObject({ metadata: kept })
    await expect(sandbox.files.list('/tmp/x')).resolves.toMatchObject([{ metadata: kept }])
    await expect(sandbox.files.rename('/tmp/x/one', '/tmp/x/two')).resolves.toMatchObject({ metadata: kept })
  })

  test('is that of the last upload alone, and of every file in it [D30]', async () => {
    const { sandbox } = await startEnvd()
    const files = ['/tmp/one', '/tmp/two'].map((path) => ({ path, data: path }))
    await expect(sandbox.files.write(files, { metadata: { a: '1' } })).resolves.toMatchObject([
      { metadata: { a: '1' } },
      { metadata: { a: '1' } },
    ])
    await sandbox.files.write('/tmp/one', 'again', { metadata: { b: '2' } })
    expect((await sandbox.files.getInfo('/tmp/one')).metadata).toEqual({ b: '2' })
    await sandbox.files.write('/tmp/two', 'again')
    expect((await sandbox.files.getInfo('/tmp/two')).metadata).toBeUndefined()
  })

  test.each([
    ['a value that is not printable', { 'x-metadata-a': 'caf\u00e9' }],
    ['no key', { 'x-metadata-': 'x' }],
    ['a key of 247 bytes', { [`x-metadata-${'k'.repeat(247)}`]: 'x' }],
    ['more than fits', { 'x-metadata-a': 'x'.repeat(4096 - 'user.e2b.a'.length + 1) }],
  ])('is refused for %s, and nothing is written [D30]', async (_name, headers) => {
    const { fetch, sandbox } = await startEnvd()
    const response = await fetch('/files?path=/tmp/x', {
      method: 'POST',
      headers: { ...octets, ...headers },
      body: 'x',
    })
    expect(response.status).toBe(400)
    await expect(sandbox.files.exists('/tmp/x')).resolves.toBe(false)
  })

  test('may be as large as the contract allows [D30]', async () => {
    const { sandbox } = await startEnvd()
    const metadata = { ['k'.repeat(246)]: 'x'.repeat(4096 - 'user.e2b.'.length - 246) }
    await expect(sandbox.files.write('/tmp/x', 'x', { metadata })).resolves.toMatchObject({ metadata })
  })
})

const compose = (sources: readonly string[], destination: string, more: Readonly<Record<string, string>> = {}) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', ...more },
  body: JSON.stringify({ source_paths: sources, destination, username: 'root' }),
})

describe('composing', () => {
  test('makes one file of several in their order, for the user, and takes them away [D36]', async () => {
    const { fetch, sandbox } = await startEnvd()
    for (const part of ['one', 'two', 'three']) await sandbox.files.write(`/tmp/${part}`, `${part};`)
    const response = await fetch('/files/compose', compose(['/tmp/two', '/tmp/one', '/tmp/three'], 'made/whole'))
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ name: 'whole', path: '/root/made/whole', type: 'file' })
    await expect(sandbox.files.read('/root/made/whole')).resolves.toBe('two;one;three;')
    await expect(sandbox.files.getInfo('/root/made/whole')).resolves.toMatchObject({ owner: 'root' })
    await expect(sandbox.files.list('/tmp')).resolves.toEqual([])
  })

  test.each([
    ['no source', [], '/tmp/whole', 400],
    ['no destination', ['/tmp/part'], '', 400],
    ['a source that is the destination', ['/tmp/part', '/tmp/../tmp/whole'], '/tmp/whole', 400],
    ['a source that is a directory', ['/tmp/part', '/etc'], '/tmp/whole', 400],
    ['a source that is not there', ['/tmp/part', '/tmp/missing'], '/tmp/whole', 404],
  ])('refuses %s and changes nothing [D36]', async (_name, sources, destination, status) => {
    const { fetch, sandbox } = await startEnvd()
    await sandbox.files.write('/tmp/part', 'part')
    await sandbox.files.write('/tmp/whole', 'before')
    expect((await fetch('/files/compose', compose(sources, destination))).status).toBe(status)
    await expect(sandbox.files.read('/tmp/part')).resolves.toBe('part')
    await expect(sandbox.files.read('/tmp/whole')).resolves.toBe('before')
  })

  test('refuses what is no such request, an unknown user, and a caller without the token [D36]', async () => {
    const { fetch } = await startEnvd({ accessToken: 'secret' })
    const access = { 'X-Access-Token': 'secret' }
    const post = (body: string) => fetch('/files/compose', { method: 'POST', headers: access, body })
    expect((await post('{')).status).toBe(400)
    expect((await post('{"source_paths":["a",1],"destination":"b"}')).status).toBe(400)
    expect((await post('{"source_paths":["a"],"destination":"b","username":"nobody-here"}')).status).toBe(401)
    expect((await fetch('/files/compose', compose(['a'], 'b'))).status).toBe(401)
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
    expect(neither.status).toBe(406)
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

  test('metrics are what the sandbox was given, and what its machine measures [D10]', async () => {
    const { fetch, machine } = await startEnvd({ resources: { cpuCount: 4, memoryMB: 2048 } })
    const ask = async (): Promise<unknown> => (await fetch('/metrics')).json()
    const MEBIBYTE = 1024 * 1024
    expect(await ask()).toMatchObject({ cpu_count: 4, cpu_used_pct: 0, mem_total: 2048 * MEBIBYTE, mem_used: 0 })
    const disk = { usedBytes: 300, totalBytes: 1000 }
    vi.spyOn(machine, 'usage').mockResolvedValue({ cpuTimeMs: 1_000_000_000, memoryBytes: 3.5 * MEBIBYTE, disk })
    expect(await ask()).toMatchObject({
      cpu_used_pct: 100,
      mem_used: 3.5 * MEBIBYTE,
      mem_used_mib: 3,
      disk_total: 1000,
      disk_used: 300,
    })
    expect(await ask()).toMatchObject({ cpu_used_pct: 0 })
  })

  test('what the platform keeps to itself is not found, what is not emulated says so [D8]', async () => {
    const { fetch } = await startEnvd()
    const init = await fetch('/init', { method: 'POST' })
    expect(init.status).toBe(404)
    expect(await init.json()).toMatchObject({ path: '/init', code: 404 })
    const other = await fetch('/files/other', { method: 'POST' })
    expect(other.status).toBe(501)
    expect(await other.json()).toEqual({ code: 501, message: 'not emulated: POST /files/other of envd' })
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
