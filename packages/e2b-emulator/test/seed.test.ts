import { Sandbox, Template } from 'e2b'
import { describe, expect, test } from 'vitest'
import { createManualClock, EmulatorError, type EmulatorOptions } from '@warmbox/e2b-emulator'
import { startEmulator } from './support/emulator.ts'

/** What a client sees of a run that builds, boots, is struck by faults now and then, and lists. */
async function run(options: EmulatorOptions) {
  const { connection, emulator } = await startEmulator({
    clock: createManualClock(),
    faults: [
      {
        match: { method: 'GET', path: /^\/sandboxes\/\w+$/ },
        probability: 0.4,
        times: Infinity,
        effect: { kind: 'answer', status: 500 },
      },
    ],
    ...options,
  })
  const build = await Template.buildInBackground(Template().fromImage('debian').runCmd('true'), 'made:v1', connection)
  const sandboxes = []
  for (let index = 0; index < 3; index += 1) sandboxes.push(await Sandbox.create('base', connection))
  const outcomes = []
  for (let index = 0; index < 20; index += 1) {
    const [sandbox] = sandboxes
    outcomes.push(
      await sandbox?.getInfo().then(
        () => 'answered',
        () => 'struck',
      ),
    )
  }
  const listed = await Sandbox.list(connection).nextItems()
  return {
    build,
    created: sandboxes.map(({ sandboxId }) => sandboxId),
    listed: listed.map(({ sandboxId }) => sandboxId),
    outcomes,
    requests: emulator.control.requests.map(({ method, path, status }) => `${method} ${path} ${status}`),
  }
}

describe('a seed', () => {
  test('gives the same identifiers, the same answers in the same order and the same faults', async () => {
    const first = await run({ seed: 'a' })
    expect(await run({ seed: 'a' })).toEqual(first)
    expect(new Set(first.outcomes)).toEqual(new Set(['answered', 'struck']))
  })

  test('of another kind gives others, and none gives new ones each time', async () => {
    const runs = await Promise.all([run({ seed: 'a' }), run({ seed: 'b' }), run({}), run({})])
    expect(new Set(runs.map(({ created }) => created.join())).size).toBe(4)
  })

  test('does not make secrets predictable', async () => {
    const keys = await Promise.all([startEmulator({ seed: 'a' }), startEmulator({ seed: 'a' })])
    expect(new Set(keys.map(({ connection }) => connection.apiKey)).size).toBe(2)
  })
})

describe('faults that could never be meant', () => {
  test.each([
    ['a negative skip', { skip: -1 }],
    ['half a time', { times: 0.5 }],
    ['no chance at all', { probability: 0 }],
    ['more than certainty', { probability: 1.1 }],
    ['a cut before the beginning', { effect: { kind: 'drop-stream', after: { bytes: -1 } } }],
  ] as const)('are refused: %s', async (_name, fault) => {
    const { emulator } = await startEmulator()
    const add = () => emulator.control.fault({ match: {}, effect: { kind: 'reset' }, ...fault })
    expect(add).toThrow(EmulatorError)
    expect(add).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }))
  })
})
