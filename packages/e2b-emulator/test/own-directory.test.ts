import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createOwnDirectory } from '../src/runtime/own-directory.ts'
import { eventually } from './real-runtime/support.ts'

function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'own-directory-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/** A process that shows the files of a template, says so and stays. */
const program = `
import { createEmulator } from ${JSON.stringify(new URL('../src/index.ts', import.meta.url).href)}
await createEmulator({ runtime: 'scripted' }).control.filesystemOf('base')
console.log('shown')
setInterval(() => undefined, 1000)`

test.each(['SIGKILL', 'SIGTERM'] as const)(
  'files that were shown are gone after %s, released or not',
  async (signal) => {
    const temporary = temporaryDirectory()
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      env: { ...process.env, TMPDIR: temporary },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    await once(child.stdout, 'data')
    expect(readdirSync(temporary)).toHaveLength(1)
    child.kill(signal)
    await once(child, 'exit')
    await eventually(() => readdirSync(temporary), [])
  },
  60_000,
)

test('it is for this user alone, in a parent that is made and stays', async () => {
  const parent = join(temporaryDirectory(), 'made', 'for it')
  const [one, other] = [createOwnDirectory(parent, 'a-'), createOwnDirectory(parent, 'a-')]
  expect(statSync(one.path).mode & 0o777).toBe(0o700)
  await one.remove()
  expect([existsSync(one.path), existsSync(other.path)]).toEqual([false, true])
  await other.remove()
  expect(readdirSync(parent)).toEqual([])
})

test.each([
  ['/dev/null', 'EEXIST'],
  ['/dev/null/nowhere', 'ENOTDIR'],
  ['/proc', 'ENOENT'],
])('a parent that cannot be is told with the error of the system: %s', (parent, code) => {
  expect(() => createOwnDirectory(parent, 'a-')).toThrow(
    expect.objectContaining({
      name: 'EmulatorError',
      code: 'DATA_DIRECTORY_UNUSABLE',
      message: expect.stringContaining(parent),
      hint: expect.stringContaining('dataDirectory'),
      cause: expect.objectContaining({ code }),
    }),
  )
})
