import { FileNotFoundError, IsDirectoryError, NotDirectoryError } from '@mastra/core/workspace'
import { createEmulator, probeNamespaces } from '@warmbox/e2b-emulator'
import { E2BSandbox } from '@warmbox/sandbox'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SandboxFilesystem } from '../src/sandbox-filesystem.ts'
import { work } from '../src/work.ts'

const probe = await probeNamespaces()
const reason = probe.available ? '' : ` (skipped: ${probe.reason})`

describe.skipIf(!probe.available)(`on the emulator with real processes${reason}`, () => {
  const emulator = createEmulator({ runtime: probe.available ? 'real' : 'scripted' })
  let make: (id: string) => E2BSandbox

  beforeAll(async () => {
    const { connection } = await emulator.listen()
    make = (id) => new E2BSandbox({ ...connection, id, template: 'base' })
  })
  afterAll(() => emulator.close())

  test("an agent works with the workspace's file, command and process tools, and leaves nothing", async () => {
    const { steps, text } = await work(make('agent'))

    const results = steps.map(({ tool, result }) => `${tool.replace('mastra_workspace_', '')}: ${result}`)
    expect(results).toEqual([
      expect.stringMatching(/^write_file: /),
      expect.stringContaining('execute_command: Hello, sandbox'),
      expect.stringContaining('echo "Hello, ${1:-world}"'),
      expect.stringMatching(/^edit_file: Replaced 1/),
      expect.stringContaining('greet.sh'),
      expect.stringMatching(/^execute_command: .*PID: \d+/s),
      expect.stringContaining('Good evening, world'),
      expect.stringMatching(/^execute_command: .*PID: \d+/s),
      expect.stringMatching(/^kill_process: .*killed/is),
    ])
    expect(text).toBe('The program greets.')
    expect(emulator.control.sandboxes()).toEqual([])
  })

  test('files of the workspace are those of its commands', async () => {
    const sandbox = make('files')
    const files = new SandboxFilesystem(sandbox, '/home/user')
    await files.mkdir('a/b')
    await files.writeFile('a/b/one.txt', 'one')
    await files.appendFile('a/b/one.txt', Buffer.from(' two'))
    await files.copyFile('a/b/one.txt', 'copy.txt')
    await files.moveFile('copy.txt', '/moved.txt')

    expect((await sandbox.executeCommand('cat a/b/one.txt moved.txt')).stdout).toBe('one twoone two')
    expect(await files.readFile('moved.txt', { encoding: 'utf8' })).toBe('one two')
    expect((await files.readdir('a', { recursive: true })).map(({ name }) => name)).toEqual(['b', 'b/one.txt'])
    expect(await files.stat('moved.txt')).toMatchObject({ name: 'moved.txt', type: 'file', size: 7 })
    await expect(files.rmdir('a')).rejects.toThrow('not empty')
    await files.rmdir('a', { recursive: true })
    expect(await files.exists('a')).toBe(false)
    await sandbox._destroy()
  })

  test('what is not there, or is another kind of thing, is not removed', async () => {
    const sandbox = make('removal')
    const files = new SandboxFilesystem(sandbox, '/home/user')
    await files.writeFile('kept/one.txt', 'one')

    await expect(files.deleteFile('gone.txt')).rejects.toBeInstanceOf(FileNotFoundError)
    await expect(files.deleteFile('gone.txt', { force: true })).resolves.toBeUndefined()
    await expect(files.deleteFile('kept', { force: true })).rejects.toBeInstanceOf(IsDirectoryError)
    await expect(files.rmdir('kept/one.txt', { recursive: true })).rejects.toBeInstanceOf(NotDirectoryError)
    expect(await files.readFile('kept/one.txt', { encoding: 'utf8' })).toBe('one')
    await sandbox._destroy()
  })

  test('lines that are appended at once are all there', async () => {
    const sandbox = make('appends')
    const files = new SandboxFilesystem(sandbox, '/home/user')
    const lines = Array.from({ length: 8 }, (_, index) => `${index}\n`)

    await Promise.all(lines.map((line) => files.appendFile('log.txt', line)))

    expect(await files.readFile('log.txt', { encoding: 'utf8' })).toBe(lines.join(''))
    await sandbox._destroy()
  })
})
