import { RUN_ID_VARIABLE } from '@warmbox/sandbox'
import { describe, expect, test } from 'vitest'
import { failedStream, failure, platform, sandboxOf } from './support/index.ts'

/** As callers without types give them. */
const untyped = (options: object): object => options

describe('options of a command', () => {
  test.each([
    ['a misspelt name', { cdw: '/tmp' }, /mean 'cwd'/],
    ['an unknown name', { shell: 'zsh' }, /abortSignal, cwd, env/],
    ['an option of spawn', { stdinMode: 'pipe' }, /processes.spawn/],
    ['a value of env that is no string', { env: { PORT: 3000 } }, /Convert the value/],
    ['a name of env that is none', { env: { 'A=B': 'x' } }, /no =/],
    ['a directory that is none', { cwd: '' }, /leave it out/],
    ['a limit that is none', { maxRetainedBytes: -1 }, /Infinity/],
    ['a Map as env', { env: new Map([['A', '1']]) }, /object as env/],
    ['a listener that is none', { onStdout: 'x' }, /function as onStdout/],
    ['a signal that is none', { abortSignal: new AbortController() }, /AbortController/],
    ['null', JSON.parse('null'), /object/],
  ])('%s is refused before any request', async (_, options, hint) => {
    const e2b = platform()

    const error = await failure(sandboxOf().executeCommand('true', [], untyped(options)))

    expect(error).toMatchObject({ code: 'INVALID_OPTION', hint: expect.stringMatching(hint) })
    expect(e2b.requests).toEqual([])
  })

  test.each([
    ['a text', 'echo', 'abc'],
    ['a number', 'echo', [1]],
    ['a hole', 'echo', Array.from({ length: 1 })],
    ['NUL', 'echo', ['a\0b']],
    ['NUL in the command', 'a\0b', []],
    ['a command that is none', 5, []],
  ])('%s is refused as arguments', async (_, command, args) => {
    const e2b = platform()

    const [anyCommand, anyArgs] = JSON.parse(JSON.stringify([command, args]))
    const error = await failure(sandboxOf().executeCommand(anyCommand, anyArgs))

    expect(error).toMatchObject({ name: 'E2BSandboxError', code: 'INVALID_OPTION', hint: expect.any(String) })
    expect(e2b.requests).toEqual([])
  })

  test.each([
    ['a variable', 'true', { env: { SECRET: 'hunter2'.repeat(20_000) } }],
    ['a command', `true ${'hunter2'.repeat(20_000)}`, {}],
  ])('%s that is too long for Linux is refused without quoting it', async (_, command, options) => {
    const e2b = platform()

    const error = await failure(sandboxOf().executeCommand(command, [], options))

    expect(error).toMatchObject({ code: 'ARGUMENT_TOO_LONG', hint: expect.stringContaining('writeFiles') })
    expect(JSON.stringify(error)).not.toContain('hunter2')
    expect(e2b.requests).toEqual([])
  })

  test.each([
    [1500.5, 6_501],
    [2 ** 31 - 1, 2 ** 31 - 1],
  ])('a timeout of %d is enforced by the sandbox in a whole number that a timer holds', async (timeout, limitMs) => {
    const e2b = platform()
    const limits: (number | undefined)[] = []
    e2b.onStart = (process) => {
      limits.push(process.limitMs)
      process.exit(0)
    }

    expect(await sandboxOf().executeCommand('true', [], { timeout })).toMatchObject({ endedBy: 'exit' })
    expect(limits).toEqual([limitMs])
  })

  test('a refusal that quotes a whole script is cut short', async () => {
    const e2b = platform()
    e2b.fail('POST', /Start$/, () => failedStream('invalid_argument', 'x'.repeat(100_000)))

    const error = await failure(sandboxOf().executeCommand('true'))
    expect(error).toMatchObject({ code: 'BAD_REQUEST' })
    expect(String(error).length).toBeLessThan(2_000)
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
