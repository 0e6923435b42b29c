import { type CodeModeToolResult, createCodeModeTool, createTool, noopObserve } from '@mastra/core/tools'
import { E2BCodeModeTransport } from '@warmbox/sandbox'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { emulate, type EmulatedPlatform, withoutNamespaces } from './support/emulator.ts'
import { failure } from './support/index.ts'

const reason = withoutNamespaces === undefined ? '' : ` (skipped: ${withoutNamespaces})`

test('code mode needs a sandbox that can hold the program', async () => {
  const options = { program: 'return 1', toolIds: [], dispatch: () => Promise.resolve(1), timeout: 1_000 }

  expect(await failure(new E2BCodeModeTransport().run(options))).toMatchObject({ code: 'INVALID_OPTION' })
})

/** Two tools that fail, each in its way, and one that does not. */
const answerOf = (tool: string, args: unknown): Promise<unknown> => {
  if (tool === 'fails') return Promise.reject(new RangeError('too far'))
  return Promise.resolve(tool === 'endless' ? 1n : { tool, args })
}

describe.skipIf(withoutNamespaces !== undefined)(`a program of code mode${reason}`, () => {
  let platform: EmulatedPlatform
  beforeAll(async () => {
    platform = await emulate({ runtime: 'real' })
  }, 60_000)
  afterAll(() => platform.close())

  interface Run {
    readonly toolIds?: string[]
    readonly dispatch?: (tool: string, args: unknown) => Promise<unknown>
    readonly timeout?: number
    readonly abortSignal?: AbortSignal
  }

  const run = async (program: string, options: Run = {}): Promise<CodeModeToolResult> => {
    const sandbox = platform.sandbox({ id: 'code-mode' })
    const { dispatch = () => Promise.resolve(undefined), timeout = 20_000, toolIds = [], abortSignal } = options
    return new E2BCodeModeTransport().run({
      sandbox,
      program,
      toolIds,
      dispatch,
      timeout,
      ...(abortSignal === undefined ? {} : { abortSignal }),
    })
  }

  test('returns its value and what it logged; types are left out', async () => {
    const program = `const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0)
      console.log('grüße', { a: 1 })
      process.stdout.write('noise\\n')
      return sum([1, 2, 3])`

    expect(await run(program)).toEqual({ success: true, result: 6, logs: ['grüße {"a":1}'] })
  })

  test('calls tools of the host, several at once, and only those it may', async () => {
    const program = `const outcome = (call) => call.then((value) => value, (error) => error.name + ': ' + error.message)
      return Promise.all([
        outcome(external_echo({ n: 1 })), outcome(external_echo({ n: 2 })), outcome(external_fails()),
        outcome(external_endless()).then((text) => text.slice(0, 9)),
      ])`

    expect(await run(program, { toolIds: ['echo', 'fails', 'endless'], dispatch: answerOf })).toMatchObject({
      success: true,
      result: [{ tool: 'echo', args: { n: 1 } }, { tool: 'echo', args: { n: 2 } }, 'RangeError: too far', 'TypeError'],
    })
  })

  test.each([
    ['throws', `throw new RangeError('too far')`, { name: 'RangeError', message: 'too far' }],
    ['is no program', 'const = 1', { message: expect.any(String) }],
    [
      'leaves early',
      `process.stderr.write('out'); process.exit(3)`,
      { name: 'NoResultError', message: expect.stringContaining('out') },
    ],
  ])('that %s is a result', async (_, program, error) => {
    const result = await run(program)

    expect(result.success).toBe(false)
    expect(result.error).toMatchObject(error)
  })

  test('that takes too long, or is aborted, is ended', async () => {
    const abort = new AbortController()
    const slow = await run('await new Promise((done) => setTimeout(done, 60_000))', { timeout: 1_000 })
    const aborted = await run('await external_wait()', {
      toolIds: ['wait'],
      abortSignal: abort.signal,
      dispatch: () => {
        abort.abort()
        return new Promise(() => undefined)
      },
    })

    expect(slow.error).toMatchObject({ name: 'TimeoutError' })
    expect(aborted.error).toMatchObject({ name: 'AbortError' })
  })

  test('runs as the tool that Mastra makes', async () => {
    const sandbox = platform.sandbox({ id: 'code-tool' })
    const add = createTool({ id: 'add', description: 'adds', execute: () => Promise.resolve({ sum: 3 }) })
    const tool = createCodeModeTool({ tools: { add }, sandbox }, new E2BCodeModeTransport())

    const result: unknown = await tool.execute?.(
      { code: 'return (await external_add({})).sum' },
      { observe: noopObserve },
    )

    expect(result).toMatchObject({ success: true, result: 3 })
    const left = async () => (await sandbox.executeCommand('ls /tmp')).stdout
    await expect.poll(left, { timeout: 10_000 }).not.toContain('warmbox-code')
  })
})
