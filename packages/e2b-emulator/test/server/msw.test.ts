import { HttpRequestInterceptor } from '@mswjs/interceptors/http'
import { Sandbox, Template } from 'e2b'
import { defineNetwork, InterceptorSource } from 'msw/experimental'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createEmulator, createScriptedRuntime } from '@warmbox/e2b-emulator'
import { emulatorHandlers } from '@warmbox/e2b-emulator/msw'

const apiKey = 'e2b_00'
const emulator = createEmulator({
  apiKey,
  runtime: createScriptedRuntime({ commands: [{ match: 'greet', answer: { stdout: 'hello\n' } }] }),
})
const network = defineNetwork({
  sources: [new InterceptorSource({ interceptors: [new HttpRequestInterceptor()] })],
  handlers: emulatorHandlers(emulator),
  onUnhandledFrame: 'error',
})

beforeAll(() => network.enable())
afterAll(async () => {
  network.disable()
  await emulator.close()
})

test('the unmodified SDK reaches the emulator through msw: build, create, run, kill', async () => {
  await Template.build(Template().fromImage('node:24').runCmd('npm ci'), 'name:v1', { apiKey })
  expect(await Template.exists('name:v1', { apiKey })).toBe(true)
  const sandbox = await Sandbox.create('name:v1', { apiKey })
  expect((await sandbox.commands.run('greet')).stdout).toBe('hello\n')
  await sandbox.files.write('/home/user/note', 'written')
  expect(await sandbox.files.read('/home/user/note')).toBe('written')
  expect(await sandbox.kill()).toBe(true)
})

test('a request that no handler knows fails', async () => {
  await expect(Template.exists('name', { apiKey, apiUrl: 'https://elsewhere.invalid' })).rejects.toBeInstanceOf(Error)
})

const malformed: readonly unknown[] = [
  'origins',
  null,
  { origin: ['https://api.e2b.app'] },
  { origins: 'https://api.e2b.app' },
  { origins: ['api.e2b.app'] },
  { origins: ['https://api.e2b.app/v2'] },
  { origins: [5] },
]

test.each(malformed)('%j are no options of the handlers', (options) => {
  expect(() => Reflect.apply(emulatorHandlers, undefined, [emulator, options])).toThrow(
    expect.objectContaining({ code: 'INVALID_OPTION', hint: expect.any(String) }),
  )
})

test.each([undefined, null, {}, { handle: 1 }])('%j is no emulator', (given) => {
  expect(() => Reflect.apply(emulatorHandlers, undefined, [given])).toThrow(
    expect.objectContaining({ code: 'INVALID_OPTION', hint: expect.any(String) }),
  )
})
