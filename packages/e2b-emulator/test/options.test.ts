import { rootCertificates } from 'node:tls'
import { Template } from 'e2b'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createEmulator, type Emulator } from '@warmbox/e2b-emulator'
import { startEmulator } from './support/emulator.ts'

const [certificate = ''] = rootCertificates
const match = {}
const cases: readonly (readonly [option: string, value: unknown])[] = [
  ['runtme', 'real'],
  ['toString', 'x'],
  ['runtime', 'foo'],
  ['runtime', {}],
  ['runtime', null],
  ['apiKey', 5],
  ['apiKey', 'key'],
  ['apiKey', 'e2b_a\nb'],
  ['apiKey', 'e2b_ä'],
  ['ids', 'x'],
  ['clock', {}],
  ['clock', Date],
  ['seed', Number.NaN],
  ['seed', {}],
  ['latency', -1],
  ['latency', Infinity],
  ['latency', '5'],
  ['limits', 5],
  ['limits', { concurrentBuilds: -1 }],
  ['limits', { concurrentSandboxes: 1.5 }],
  ['limits', { sandboxSeconds: '60' }],
  ['limits', { builds: 1 }],
  ['team', 'Acme'],
  ['team', 7],
  ['dataDirectory', ''],
  ['certificateAuthorities', 'pem'],
  ['certificateAuthorities', ['pem']],
  ['certificateAuthorities', [certificate, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n']],
  ['certificateAuthorities', [`${certificate}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`]],
  ['envdVersion', 5],
  ['envdVersion', '0.6.14'],
  ['envdVersion', '9.9.9'],
  ['faults', {}],
  ['faults', [null]],
  ['faults', [{ match }]],
  ['faults', [{ effect: { kind: 'reset' } }]],
  ['faults', [{ match: { url: '/' }, effect: { kind: 'reset' } }]],
  ['faults', [{ match: { plane: 'data' }, effect: { kind: 'reset' } }]],
  ['faults', [{ match, effect: { kind: 'explode' } }]],
  ['faults', [{ match, effect: { kind: 'answer', status: 199 } }]],
  ['faults', [{ match, effect: { kind: 'answer', status: 600 } }]],
  ['faults', [{ match, effect: { kind: 'delay', ms: Number.NaN } }]],
  ['faults', [{ match, effect: { kind: 'reset', when: 'later' } }]],
  ['faults', [{ match, effect: { kind: 'drop-stream' } }]],
  ['faults', [{ match, effect: { kind: 'drop-stream', after: { messages: 1, bytes: 1 } } }]],
  ['faults', [{ match, effect: { kind: 'drop-stream', after: { messages: 1, byte: 1 } } }]],
  ['faults', [{ match: { method: 'post' }, effect: { kind: 'reset' } }]],
  ['faults', [{ match, effect: { kind: 'answer', status: 429, retryAfter: 1 } }]],
  ['faults', [{ match, effect: { kind: 'answer', status: 429, headers: { 'retry after': '1' } } }]],
  ['faults', [{ match, effect: { kind: 'delay', ms: 1, when: 'after' } }]],
  ['faults', [{ match, effect: { kind: 'reset', after: { bytes: 1 } } }]],
  ['ids', () => 5],
  ['ids', () => ''],
  ['ids', () => 'always the same'],
]

describe('options', () => {
  test.each(cases)('that could never be meant are refused by their name: %s %j', (option, value) => {
    expect(() => Reflect.apply(createEmulator, undefined, [{ [option]: value }])).toThrow(
      expect.objectContaining({
        name: 'EmulatorError',
        code: 'INVALID_OPTION',
        message: expect.stringContaining(option),
      }),
    )
  })

  test.each([
    [{ lmits: {} }, 'there is no option "lmits"', 'Did you mean "limits"?'],
    [{ port: 4983 }, 'there is no option "port"', expect.stringMatching(/^The options are runtime, clock, /)],
    [{ limits: { sandboxSecond: 1 } }, 'limits has no "sandboxSecond"', 'Did you mean "sandboxSeconds"?'],
    [{ limits: { foo: 1 } }, 'limits has no "foo"', expect.stringMatching(/^The limits are concurrentBuilds, /)],
    [{ limits: { concurrentBuilds: -1 } }, 'limits.concurrentBuilds must be a whole number', undefined],
    [
      { faults: [{ match, effect: { kind: 'answer', status: 429, header: {} } }] },
      'faults: a fault has an effect with no field "header"',
      undefined,
    ],
    [{ envdVersion: '0.7.0' }, 'at most "0.6.13"', undefined],
  ])('a wrong name is told with the one it resembles: %j', (options, message, hint) => {
    expect(() => Reflect.apply(createEmulator, undefined, [options])).toThrow(
      expect.objectContaining({
        code: 'INVALID_OPTION',
        message: expect.stringContaining(message),
        hint,
      }),
    )
  })

  test('a data directory that is none is told to who uploads, in words that name the option', async () => {
    const { connection } = await startEmulator({ dataDirectory: '/dev/null' })
    const template = Template({ fileContextPath: import.meta.dirname })
      .fromImage('node:24')
      .copy('options.test.ts', '.')
    await expect(Template.build(template, 'copied', connection)).rejects.toThrow(/500.*\/dev\/null/)
  })

  test('a source of ids that fails later on is told to who asked, in words that name the option', async () => {
    let given = 0
    const ids = () => (given < 4 ? `${(given += 1)}` : '1')
    const emulator = createEmulator({ runtime: 'scripted', apiKey: 'e2b_0', ids })
    onTestFinished(() => emulator.close())
    const create = () =>
      emulator.fetch('http://localhost/v2/sandboxes', {
        method: 'POST',
        headers: { 'X-API-KEY': 'e2b_0' },
        body: '{"templateID":"base"}',
      })
    const answers = [await create(), await create(), await create()]
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 500])
    expect(await answers[2]?.text()).toContain('ids must')
  })

  test('several certificates may come as one text', async () => {
    const emulator = createEmulator({ certificateAuthorities: [rootCertificates.slice(0, 3).join('\n')] })
    await expect(emulator.close()).resolves.toBeUndefined()
  })

  test('an API key is not shown, even where it is refused', () => {
    expect(() => createEmulator({ apiKey: 'e2b_secret value' })).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('secret') }),
    )
  })

  test('limits of 0 and options left undefined are as good as any', async () => {
    const options = { limits: { concurrentSandboxes: 0 }, latency: 0, seed: 0, team: undefined, runtime: 'scripted' }
    const emulator: Emulator = Reflect.apply(createEmulator, undefined, [options])
    await expect(emulator.close()).resolves.toBeUndefined()
  })
})
