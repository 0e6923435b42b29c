import { describe, expect, test } from 'vitest'
import { createEmulator, type Emulator } from '@warmbox/e2b-emulator'

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
  ['envdVersion', 5],
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
