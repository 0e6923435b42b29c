import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FileType, Sandbox, Template } from 'e2b'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startEmulator } from '../support/emulator.ts'

/** A directory of the host with these files, as context of COPY steps. */
async function filesOnHost(files: Record<string, string>): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'emulator-copy-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  for (const [path, content] of Object.entries(files)) {
    await mkdir(join(directory, path, '..'), { recursive: true })
    await writeFile(join(directory, path), content)
  }
  return directory
}

async function list(sandbox: Sandbox, path: string) {
  const entries = await sandbox.files.list(path, { depth: 5 })
  return entries.filter(({ type }) => type === FileType.FILE).map((entry) => entry.path)
}

describe('COPY', () => {
  test('a file becomes the destination, or goes into it after a trailing slash [B54]', async () => {
    const fileContextPath = await filesOnHost({ 'a.txt': 'A' })
    const { connection } = await startEmulator()
    const template = Template({ fileContextPath })
      .fromImage('node:24')
      .copy('a.txt', '/app/renamed.txt')
      .copy('a.txt', '/dir/')
    await Template.build(template, 'name', connection)
    const sandbox = await Sandbox.create('name', connection)
    expect(await list(sandbox, '/app')).toEqual(['/app/renamed.txt'])
    expect(await list(sandbox, '/dir')).toEqual(['/dir/a.txt'])
    expect(await sandbox.files.read('/app/renamed.txt')).toBe('A')
  })

  test("a directory's contents are merged into the destination [B54]", async () => {
    const fileContextPath = await filesOnHost({ 'src/a.txt': 'A', 'src/deep/b.txt': 'B', 'other/c.txt': 'C' })
    const { connection } = await startEmulator()
    const template = Template({ fileContextPath }).fromImage('node:24').copy('src', '/app').copy('other', '/app')
    await Template.build(template, 'name', connection)
    expect(await list(await Sandbox.create('name', connection), '/app')).toEqual([
      '/app/a.txt',
      '/app/c.txt',
      '/app/deep/b.txt',
    ])
  })

  test('files that a pattern matches go into the destination', async () => {
    const fileContextPath = await filesOnHost({ 'a.json': '1', 'b.json': '2', 'c.txt': '3' })
    const { connection } = await startEmulator()
    const template = Template({ fileContextPath }).fromImage('node:24').copy('*.json', '/app')
    await Template.build(template, 'name', connection)
    expect(await list(await Sandbox.create('name', connection), '/app')).toEqual(['/app/a.json', '/app/b.json'])
  })

  test('a relative destination lies under the working directory, else the home [B54]', async () => {
    const fileContextPath = await filesOnHost({ 'a.txt': 'A' })
    const { connection } = await startEmulator()
    const template = Template({ fileContextPath })
      .fromImage('node:24')
      .copy('a.txt', 'home.txt')
      .setWorkdir('/srv')
      .copy('a.txt', 'sub/')
    await Template.build(template, 'name', connection)
    const sandbox = await Sandbox.create('name', connection)
    expect(await list(sandbox, '/home/user')).toEqual(['/home/user/home.txt'])
    expect(await list(sandbox, '/srv')).toEqual(['/srv/sub/a.txt'])
  })

  test('owner and mode are those asked for, else the current user and the mode of the file [B55]', async () => {
    const fileContextPath = await filesOnHost({ 'a.txt': 'A' })
    const { connection } = await startEmulator()
    const template = Template({ fileContextPath })
      .fromImage('node:24')
      .copy('a.txt', '/plain.txt')
      .copy('a.txt', '/owned.txt', { user: 'root', mode: 0o600 })
    await Template.build(template, 'name', connection)
    const sandbox = await Sandbox.create('name', connection)
    expect(await sandbox.files.getInfo('/plain.txt')).toMatchObject({ owner: 'user', mode: 0o644 })
    expect(await sandbox.files.getInfo('/owned.txt')).toMatchObject({ owner: 'root', mode: 0o600 })
  })

  test('a symlink stays a symlink', async () => {
    const fileContextPath = await filesOnHost({ 'src/a.txt': 'A' })
    await symlink('a.txt', join(fileContextPath, 'src/link'))
    const { connection } = await startEmulator()
    await Template.build(Template({ fileContextPath }).fromImage('node:24').copy('src', '/app'), 'name', connection)
    const sandbox = await Sandbox.create('name', connection)
    expect(await sandbox.files.getInfo('/app/link')).toMatchObject({ symlinkTarget: expect.stringMatching(/a\.txt$/) })
    expect(await sandbox.files.read('/app/link')).toBe('A')
  })

  test('is uploaded once for all templates of the team [B13]', async () => {
    const fileContextPath = await filesOnHost({ 'a.txt': 'A' })
    const { connection, emulator } = await startEmulator()
    const template = () => Template({ fileContextPath }).fromImage('node:24').copy('a.txt', '/app/')
    await Template.build(template(), 'one', connection)
    await Template.build(template(), 'two', connection)
    expect(emulator.control.requests.filter(({ method }) => method === 'PUT')).toHaveLength(1)
  })

  test('without its upload fails the build [B56]', async () => {
    const { connection, api } = await startEmulator()
    const { data } = await api.POST('/v3/templates', { body: { name: 'name' } })
    const path = { templateID: data?.templateID ?? '', buildID: data?.buildID ?? '' }
    await api.POST('/v2/templates/{templateID}/builds/{buildID}', {
      params: { path },
      body: { fromImage: 'a', steps: [{ type: 'COPY', args: ['a', '/b'], filesHash: 'ab'.repeat(32) }] },
    })
    await expect(Sandbox.create('name', connection)).rejects.toMatchObject({ statusCode: 404 })
  })
})
