import { posix } from 'node:path'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createManualClock } from '../../src/clock.ts'
import { requestedRange, sliced } from '../../src/envd/http/byte-range.ts'
import { answerEncoding } from '../../src/envd/http/content-encoding.ts'
import { Mailbox } from '../../src/envd/mailbox.ts'
import { resolvePath } from '../../src/envd/path.ts'
import type { SandboxForEnvd } from '../../src/envd/sandbox.ts'
import { userNameFromHeader } from '../../src/envd/user.ts'
import { createTestMachine } from './support/machine.ts'

const user = { name: 'ada', home: '/home/ada' }

async function sandbox(defaultWorkdir?: string): Promise<SandboxForEnvd> {
  const machine = await createTestMachine({})
  return { id: 'a', machine, accessToken: undefined, defaultUser: 'ada', defaultWorkdir, envs: {} }
}

describe('paths', () => {
  test.each([
    ['', '/work'],
    ['~', '/home/ada'],
    ['~/a', '/home/ada/a'],
    ['a/b', '/home/ada/a/b'],
    ['./a', '/home/ada/a'],
    ['../x', '/home/x'],
    ['/etc/../tmp/', '/tmp'],
    ['/', '/'],
    ['a~b', '/home/ada/a~b'],
  ])('%j means %s', async (given, expected) => {
    expect(resolvePath(given, user, await sandbox('/work'))).toBe(expected)
  })

  test('every path is absolute and normal, or refused', async () => {
    const described = await sandbox()
    const segment = fc.oneof(fc.constantFrom('', '.', '..', '~', '...'), fc.string({ maxLength: 3 }))
    const path = fc.array(segment, { maxLength: 6 }).map((segments) => segments.join('/'))
    fc.assert(
      fc.property(
        path.filter((given) => !/^~[^/]/.test(given)),
        (given) => {
          const resolved = resolvePath(given, user, described)
          expect(resolved.startsWith('/')).toBe(true)
          expect(posix.resolve(resolved)).toBe(resolved)
        },
      ),
    )
  })
})

describe('the user header', () => {
  test('names any user, whatever the password [D3]', () => {
    fc.assert(
      fc.property(
        fc.string().filter((name) => !name.includes(':')),
        fc.string(),
        (name, password) => {
          const header = `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`
          expect(userNameFromHeader(header)).toBe(Buffer.from(name).toString())
        },
      ),
    )
  })

  test.each([null, '', 'Bearer abc', 'Basic', 'Basic ???'])('%j names nobody', (header) => {
    expect(userNameFromHeader(header)).toBeUndefined()
  })
})

describe('encodings of an answer', () => {
  test.each([
    [null, 'identity'],
    ['', 'identity'],
    ['gzip, deflate', 'gzip'],
    ['GZIP', 'gzip'],
    ['gzip;q=0', 'identity'],
    ['identity;q=0.9, gzip;q=0.1', 'identity'],
    ['*', 'identity'],
    ['*, identity;q=0', 'gzip'],
    ['br', 'identity'],
  ])('%j gives %s', (header, expected) => {
    expect(answerEncoding(header)).toBe(expected)
  })
})

describe('a byte range', () => {
  test('gives the same bytes however the file is cut into chunks', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ maxLength: 8 }), { maxLength: 6 }),
        fc.nat(30),
        fc.nat(30),
        async (chunks, first, length) => {
          const whole = Buffer.concat(chunks)
          const range = requestedRange(`bytes=${first}-${first + length}`, whole.byteLength)
          fc.pre(typeof range === 'object')
          const got = new Response(sliced(ReadableStream.from(chunks), range))
          expect(Buffer.from(await got.arrayBuffer())).toEqual(whole.subarray(first, first + length + 1))
        },
      ),
    )
  })

  test('outside the file is unsatisfiable', () => {
    expect(requestedRange('bytes=0-', 0)).toBe('unsatisfiable')
    expect(requestedRange('bytes=5-2', 10)).toBe('unsatisfiable')
    expect(requestedRange('items=0-1', 10)).toBeUndefined()
  })
})

const followed = (mailbox: Mailbox<string>) =>
  mailbox.follow({ signal: new AbortController().signal, quietMs: 1000, clock: createManualClock() })

describe('a mailbox', () => {
  test('delivers what lay there before it failed, then the failure', async () => {
    const mailbox = new Mailbox<string>(10)
    mailbox.put('last words', 1)
    mailbox.fail(new Error('broken'))
    mailbox.put('too late', 1)
    const reader = followed(mailbox)
    expect(await reader.next()).toEqual({ done: false, value: 'last words' })
    await expect(reader.next()).rejects.toThrow('broken')
  })

  test('is full by weight, and has room again once its reader took enough', async () => {
    const mailbox = new Mailbox<string>(3)
    mailbox.put('heavy', 4)
    expect(mailbox.full).toBe(true)
    const room = mailbox.room()
    await followed(mailbox).next()
    await room
    expect(mailbox.full).toBe(false)
  })

  test('stops its reader with the reason of the signal, and leaves no timer', async () => {
    const left = new AbortController()
    let timers = 0
    const reader = new Mailbox<string>(1).follow({
      signal: left.signal,
      quietMs: 1000,
      clock: {
        now: () => 0,
        schedule: () => {
          timers += 1
          return () => {
            timers -= 1
          }
        },
      },
    })
    const next = reader.next()
    expect(timers).toBe(1)
    left.abort(new Error('left'))
    await expect(next).rejects.toThrow('left')
    expect(timers).toBe(0)
  })
})
