import { createRedactor } from '@warmbox/resolution'
import { assert, property, string } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { named, World } from './support/world.ts'

const TOKEN = 'ghs_Zq0+x/7&1yT9~kQ='
const base64 = (text: string): string => Buffer.from(text).toString('base64')
const base64url = (text: string): string => Buffer.from(text).toString('base64url')

describe('text', () => {
  const { text } = createRedactor([TOKEN])
  const forms: [string, string][] = [
    ['itself', TOKEN],
    ['base64', base64(TOKEN)],
    ['basic credentials', base64(`x-access-token:${TOKEN}`)],
    ['basic credentials of another user', base64(`somebody:${TOKEN}`)],
    ['inside a longer base64', base64(`{"a":"${TOKEN}","b":1}`)],
    ['base64url', base64url(`x-access-token:${TOKEN}`)],
    ['a URL', `https://x-access-token:${encodeURIComponent(TOKEN)}@github.com/a/b`],
    ['JSON', JSON.stringify({ token: TOKEN })],
  ]

  test.each(forms)('%s', (_form, secret) => {
    const redacted = text(`before ${secret} after ${secret}`)
    expect(redacted).toContain('before ')
    expect(redacted).toContain('***')
    for (const needle of [TOKEN, base64(TOKEN), base64(`x-access-token:${TOKEN}`), encodeURIComponent(TOKEN)]) {
      expect(redacted).not.toContain(needle)
    }
  })

  test('a secret of several lines is found line by line', () => {
    const key = '-----BEGIN KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END KEY-----'
    expect(createRedactor([key]).text('[step 3] hkiG9w0BAQEFAASC')).toBe('[step 3] ***')
  })

  test('whatever the secret and its surroundings, it is not there any more', () => {
    const secrets = string({ unit: 'grapheme', minLength: 6, maxLength: 40 })
    assert(
      property(secrets, string(), string(), (value, before, after) => {
        const redacted = createRedactor([value]).text(`${before}${value}${after}`)
        // What stands around may spell the secret again; its own occurrence is gone.
        expect(redacted.length).toBeLessThan(before.length + value.length + after.length)
      }),
    )
  })

  test('nothing to hide, and values too short to be secret, change nothing', () => {
    expect(createRedactor([]).text('abc')).toBe('abc')
    expect(createRedactor(['', '1', 'abc']).text('abc 1')).toBe('abc 1')
  })
})

describe('errors', () => {
  const { error } = createRedactor([TOKEN])

  test('are copied with message, stack, fields and causes redacted, and keep their class', () => {
    class OddError extends Error {
      readonly details = { list: [`a ${TOKEN}`], count: 2 }
    }
    const original = new OddError(`failed for ${TOKEN}`, { cause: new TypeError(base64(`u:${TOKEN}`)) })
    const redacted = error(original)
    expect(redacted).toBeInstanceOf(OddError)
    expect(redacted).toMatchObject({ message: 'failed for ***', details: { list: ['a ***'], count: 2 } })
    const seen = JSON.stringify(Object.getOwnPropertyDescriptors(Object(redacted)))
    expect(seen).not.toContain(TOKEN)
    expect(redacted).toHaveProperty('cause.message', expect.stringMatching(/^.{0,8}\*\*\*.{0,4}$/))
    expect(original.message).toContain(TOKEN)
  })

  test('that lead back to themselves lead back to the copy', () => {
    const original = new Error(`failed for ${TOKEN}`)
    original.cause = { error: original }
    const redacted = error(original)
    expect(redacted).toHaveProperty('cause.error', redacted)
  })

  test('without a secret are the same object, also when they contain themselves', () => {
    const clean = new Error('clean')
    clean.cause = { error: clean }
    expect(error(clean)).toBe(clean)
  })

  test('that are aborts stay aborts', () => {
    const redacted = error(new DOMException(`aborted ${TOKEN}`, 'AbortError'))
    expect(redacted).toBeInstanceOf(DOMException)
    expect(redacted).toMatchObject({ name: 'AbortError', message: 'aborted ***' })
  })

  test('values that are no errors keep their kind', () => {
    expect([error(`x ${TOKEN}`), error(7), error(undefined)]).toEqual(['x ***', 7, undefined])
  })
})

describe('a resolution', () => {
  test('tells no secret of its spec: not in events, attempts, the final error or its cause', async () => {
    const world = new World()
    const message = `git said ${base64(`x-access-token:${TOKEN}`)}`
    world.api.scripts.push({ logs: [`ENV GH_TOKEN ${TOKEN}`], end: { message, step: '2' } })
    world.api.fault = (call) => {
      if (call.method === 'requestBuild' && call.ref !== named().ref) throw new Error(`a defect near ${TOKEN}`)
    }
    const failure = await world.start(named({ redact: [TOKEN] })).catch((error: unknown) => error)
    expect(world.eventsOf('build-log')).toMatchObject([{ line: 'ENV GH_TOKEN ***' }])
    expect(world.eventsOf('rung')).toMatchObject([
      { rung: 'exact' },
      { rung: 'built', reason: expect.stringContaining('***') },
      { rung: 'default', reason: 'a defect near ***' },
    ])
    expect(JSON.stringify(world.events)).not.toContain(TOKEN)
    expect(failure).toMatchObject({ message: 'a defect near ***' })
  })

  test('whose build others wait for tells them no secret of it', async () => {
    const world = new World()
    world.api.scripts.push({ logs: [`token ${TOKEN}`], end: { message: `near ${TOKEN}`, step: '2' } })
    const other = new World()
    const [, joined] = await Promise.all([
      world.start(named({ redact: [TOKEN] })),
      world.start(named(), { onEvent: (event) => other.events.push(event) }),
    ])
    expect(world.eventsOf('build-log')).toMatchObject([{ line: 'token ***' }])
    expect(other.eventsOf('build-log')).toEqual([])
    expect(joined.attempts).toContainEqual(expect.objectContaining({ reason: expect.stringContaining('near ***') }))
    expect(JSON.stringify([other.events, joined])).not.toContain(TOKEN)
  })
})
