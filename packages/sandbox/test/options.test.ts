import { DEFAULT_LIFECYCLE, DEFAULT_SANDBOX_TIMEOUT_MS, E2BSandbox, type E2BSandboxOptions } from '@warmbox/sandbox'
import { Template } from 'e2b'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { connection, platform, recorder, sandboxOf } from './support/index.ts'

afterEach(() => vi.unstubAllEnvs())

const construct = (options: E2BSandboxOptions) => () => new E2BSandbox({ ...connection, ...options })

function thrown(work: () => unknown): unknown {
  try {
    work()
  } catch (error) {
    return error
  }
  throw new Error('It was expected to throw')
}

describe('an option that cannot work is refused where it is given', () => {
  const refusals: [string, E2BSandboxOptions, string, string][] = [
    ['an empty id', { id: ' ' }, 'id is empty', 'Give a non-empty id, or leave it out'],
    [
      'a relative working directory',
      { workingDirectory: 'a/b' },
      'workingDirectory is not an absolute directory',
      'Write it like /home/user/widgets, or leave it out',
    ],
    [
      'a listener that is none',
      { onEvent: JSON.parse('"x"') },
      'onEvent is not a function',
      'Give a function as onEvent, or leave it out',
    ],
    ['an empty sandboxId', { sandboxId: '' }, 'sandboxId is empty', 'Give a non-empty sandboxId, or leave it out'],
    [
      'a timeout of nothing',
      { timeout: 0 },
      'timeout is not a time in milliseconds: 0',
      'Give a whole number from 1 to 86400000',
    ],
    [
      'a timeout with a fraction',
      { timeout: 1.5 },
      'timeout is not a time in milliseconds: 1.5',
      'Give a whole number from 1 to 86400000',
    ],
    [
      'a build timeout below zero',
      { buildTimeoutMs: -1 },
      'buildTimeoutMs is not a time in milliseconds: -1',
      'Give a whole number from 1 to 86400000',
    ],
    ['an apiUrl that is none', { apiUrl: 'api' }, 'apiUrl is not a URL', 'Give an http or https URL'],
    ['a sandboxUrl of another kind', { sandboxUrl: 'ftp://x' }, 'sandboxUrl is not a URL', 'Give an http or https URL'],
    [
      'a domain with a scheme',
      { domain: 'https://e2b.app' },
      "domain is not a host name: 'https://e2b.app'",
      "Write it without scheme and path, such as 'e2b.app'",
    ],
    [
      'an impossible variable',
      { env: { 'A=B': '1' } },
      "env holds an impossible name: 'A=B'",
      'A name has no = and no NUL',
    ],
    [
      'a value with NUL',
      { env: { SECRET: 'a\0b' } },
      'env.SECRET is not a string without NUL',
      'Convert the value to a string, or leave the variable out',
    ],
    [
      'metadata without a JSON form',
      { metadata: { fn: () => 1 } },
      'metadata.fn has no JSON form',
      'Give a string or a JSON value',
    ],
    [
      'a wake-up of what is killed',
      { lifecycle: { onTimeout: 'kill', autoResume: true } },
      'lifecycle.autoResume needs a paused sandbox',
      "Use onTimeout: 'pause', or leave autoResume out",
    ],
    [
      'a wake-up without memory',
      { lifecycle: { onTimeout: { action: 'pause', keepMemory: false }, autoResume: true } },
      'lifecycle.autoResume needs the memory kept',
      'Leave out keepMemory: false or autoResume',
    ],
    ['an empty template', { template: '' }, 'template is empty', 'Give a non-empty template, or leave it out'],
  ]

  test.each(refusals)('%s', (_what, options, message, hint) => {
    expect(construct(options)).toThrow(
      expect.objectContaining({ name: 'E2BSandboxError', code: 'INVALID_OPTION', message, hint }),
    )
  })

  // What only JavaScript lets through, and what the error begins with.
  const forms: [string, unknown, string][] = [
    ['id', 5, 'id is not a string'],
    ['id', null, 'id is not a string'],
    ['sandboxId', {}, 'sandboxId is not a string'],
    ['apiKey', ['hunter2'], 'apiKey is not a string'],
    ['domain', 5, 'domain is not a string'],
    ['env', 5, 'env is not an object'],
    ['env', ['hunter2'], 'env is not an object'],
    ['env', new Map([['A', 'hunter2']]), 'env is not an object'],
    ['metadata', new Date(), 'metadata is not an object'],
    ['timeout', null, 'timeout is not a time in milliseconds: null'],
    ['network', { foo: 1 }, "network has no 'foo'"],
    ['network', { allowout: [] }, "network has no 'allowout'"],
    ['lifecycle', { onTimeout: 'pause', autoresume: true }, "lifecycle has no 'autoresume'"],
    ['lifecycle', { onTimeout: { action: 'pause', keep: 1 } }, "lifecycle.onTimeout has no 'keep'"],
    ['lifecycle', { onTimeout: { action: 'kill', keepMemory: true } }, "lifecycle.onTimeout has no 'keepMemory'"],
    [
      'lifecycle',
      { onTimeout: { action: 'pause', keepMemory: 'no' } },
      'lifecycle.onTimeout.keepMemory is neither true nor false',
    ],
    ['template', {}, 'template is none of the forms a template has'],
    ['template', [], 'template is none of the forms a template has'],
    ['template', new Date(), 'template is none of the forms a template has'],
    ['template', Promise.resolve('base'), 'template is none of the forms a template has'],
    ['template', null, 'template is none of the forms a template has'],
    ['metadata', 'hunter2', 'metadata is not an object'],
    ['network', 5, 'network is not an object'],
    ['lifecycle', { onTimeout: 'pause', autoResume: 'no' }, 'lifecycle.autoResume is neither true nor false'],
    ['strictTemplate', 'no', 'strictTemplate is neither true nor false'],
    ['overlapLookup', 0, 'overlapLookup is neither true nor false'],
    ['lease', 5, 'lease has no method acquire, renew, release'],
    ['lease', {}, 'lease has no method acquire, renew, release'],
    ['clock', {}, 'clock has no method now, sleep'],
    ['instructions', 5, 'instructions is not a string'],
    ['onStart', 'x', 'onStart is not a function'],
    ['bogus', 1, "E2BSandbox has no option 'bogus'"],
    ['toString', 1, "E2BSandbox has no option 'toString'"],
  ]

  test.each(forms)('%s: %j', (field, value, message) => {
    const error = thrown(construct({ [field]: value }))
    expect(error).toMatchObject({ name: 'E2BSandboxError', code: 'INVALID_OPTION', message, hint: expect.any(String) })
    expect(JSON.stringify(error)).not.toContain('hunter2')
  })

  test('but not what the SDK and the contract take', () => {
    const template = Template().fromTemplate('base')
    for (const form of ['base', template, (base: typeof template) => base, { ref: 'a:b', template }]) {
      expect(construct({ template: form })).not.toThrow()
    }
    expect(construct({ template: { resolveSpec: async () => ({ ref: 'a:b', template }) } })).not.toThrow()
    expect(construct({ lifecycle: { onTimeout: { action: 'pause', keepMemory: false } } })).not.toThrow()
    expect(construct({ lifecycle: { onTimeout: { action: 'kill' } } })).not.toThrow()
    expect(
      construct({ network: { allowOut: ({ allTraffic }) => [allTraffic], denyOut: [], allowPublicTraffic: false } }),
    ).not.toThrow()
    expect(construct({ env: Object.assign(Object.create(null), { A: '1' }) })).not.toThrow()
  })

  test('options that are none', () => {
    for (const options of ['null', '5', '[]']) {
      expect(() => new E2BSandbox(JSON.parse(options))).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
    }
  })

  test('but one that a subclass adds is its own, and one that is undefined is absent', () => {
    class Own extends E2BSandbox {}
    const options = { ...connection, bogus: 1 }
    expect(new Own(options).clone()).toBeInstanceOf(Own)
    expect(construct(Object.assign({ id: 'a' }, { bogus: undefined }))).not.toThrow()
  })

  test('a URL that holds credentials, without repeating them', () => {
    expect(construct({ apiUrl: 'https://user:hunter2@api' })).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', message: 'apiUrl holds credentials' }),
    )
  })

  test('an access token without an API key', () => {
    vi.stubEnv('E2B_API_KEY', '')

    expect(() => new E2BSandbox({ accessToken: 'sk_e2b_secret' })).toThrow(
      expect.objectContaining({
        code: 'INVALID_OPTION',
        message: 'accessToken is no credential of E2B any more',
        hint: 'Pass apiKey, or set the environment variable E2B_API_KEY',
      }),
    )
  })
})

test('an access token beside an API key is reported and not used', async () => {
  const e2b = platform()
  const { events, onEvent } = recorder()

  await sandboxOf({ accessToken: 'sk_e2b_secret', onEvent }).start()

  expect(events).toContainEqual(expect.objectContaining({ type: 'warning', code: 'ACCESS_TOKEN_IGNORED' }))
  expect(JSON.stringify([events, e2b.requests])).not.toContain('sk_e2b_secret')
})

describe('constructing', () => {
  test('sends nothing and needs no key', () => {
    vi.stubEnv('E2B_API_KEY', '')
    const e2b = platform()

    const sandbox = new E2BSandbox()

    expect(sandbox).toMatchObject({ name: 'E2BSandbox', provider: 'e2b', status: 'pending' })
    expect(e2b.requests).toEqual([])
  })

  test('without an id gives each sandbox its own', () => {
    expect(new E2BSandbox().id).not.toBe(new E2BSandbox().id)
  })

  test('knows its defaults', () => {
    expect(DEFAULT_SANDBOX_TIMEOUT_MS).toBe(300_000)
    expect(DEFAULT_LIFECYCLE).toEqual({ onTimeout: 'pause', autoResume: false })
  })
})
