import { RUN_ID_VARIABLE } from '@warmbox/sandbox'
import { describe, expect, test } from 'vitest'
import { failedStream, failure, platform, sandboxOf } from './support/index.ts'

/** As callers without types give them. */
const untyped = (options: object): object => options

describe('options of a command', () => {
  test.each([
    ['an unknown name', { cdw: '/tmp' }, /takes abortSignal, cwd, env/],
    ['an option of spawn', { stdinMode: 'pipe' }, /processes.spawn/],
    ['a value of env that is no string', { env: { PORT: 3000 } }, /Convert the value/],
    ['a name of env that is none', { env: { 'A=B': 'x' } }, /no =/],
    ['a directory that is none', { cwd: '' }, /leave it out/],
    ['a limit that is none', { maxRetainedBytes: -1 }, /Infinity/],
  ])('%s is refused before any request', async (_, options, hint) => {
    const e2b = platform()

    const error = await failure(sandboxOf().executeCommand('true', [], untyped(options)))

    expect(error).toMatchObject({ code: 'INVALID_OPTION', hint: expect.stringMatching(hint) })
    expect(e2b.requests).toEqual([])
  })

  test.each([
    ['an unknown name', { stdin: true }],
    ['a stdin mode that is none', { stdinMode: 'open' }],
  ])('%s is refused by spawn too', async (_, options) => {
    platform()

    const error = await failure(sandboxOf().processes.spawn('true', untyped(options)))

    expect(error).toMatchObject({ code: 'INVALID_OPTION', hint: expect.any(String) })
  })

  test('that are undefined are absent', async () => {
    const e2b = platform()
    const sandbox = sandboxOf({ env: { KEPT: 'yes', DROPPED: 'yes' } })
    sandbox.setEnv((env) => ({ ...env, DROPPED: undefined, ADDED: 'yes' }))
    const names: string[] = []
    e2b.onStart = (process) => {
      names.push(...Object.keys(process.envs))
      process.exit(0)
    }

    await sandbox.executeCommand('true', [], untyped({ timeout: undefined, cwd: undefined, env: undefined }))

    expect(names.toSorted()).toEqual(['ADDED', 'KEPT', RUN_ID_VARIABLE])
  })

  test('a value of the overlay that is no string is refused when it would be used', async () => {
    platform()
    const sandbox = sandboxOf()
    sandbox.setEnv((env) => Object.assign(env, { PORT: 3000 }))

    expect(await failure(sandbox.executeCommand('true'))).toMatchObject({ code: 'INVALID_OPTION' })
  })

  test('a directory that E2B refuses has a hint', async () => {
    const e2b = platform()
    e2b.fail('POST', /Start$/, () => failedStream('invalid_argument', 'cwd'))

    expect(await failure(sandboxOf().executeCommand('true', [], { cwd: '/nowhere' }))).toMatchObject({
      message: expect.stringContaining('/nowhere'),
      hint: expect.stringContaining('exists'),
    })
  })
})
