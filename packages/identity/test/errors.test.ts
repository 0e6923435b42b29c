import { IdentityError, isWarmboxError, WarmboxError } from '@warmbox/identity'
import { describe, expect, test } from 'vitest'

describe('WarmboxError', () => {
  const cause = new Error('holds a secret')
  const error = new IdentityError({
    code: 'SHA_INVALID',
    field: 'sha',
    message: 'sha is not a full commit id',
    hint: 'Pass all of it.',
    cause,
  })

  test('keeps code, message, hint, field and cause apart', () => {
    expect(error).toBeInstanceOf(WarmboxError)
    expect(error).toMatchObject({
      name: 'IdentityError',
      code: 'SHA_INVALID',
      message: 'sha is not a full commit id',
      hint: 'Pass all of it.',
      field: 'sha',
      cause,
    })
  })

  test('leaves cause and stack out of its JSON', () => {
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      name: 'IdentityError',
      code: 'SHA_INVALID',
      message: 'sha is not a full commit id',
      hint: 'Pass all of it.',
      field: 'sha',
    })
  })

  test('is known by its marker, also across copies of the package', () => {
    const fromAnotherCopy = { [Symbol.for('warmbox.error')]: true, code: 'SHA_INVALID' }
    expect(isWarmboxError(error)).toBe(true)
    expect(isWarmboxError(fromAnotherCopy)).toBe(true)
    expect(isWarmboxError(new Error('another'))).toBe(false)
    expect(isWarmboxError(undefined)).toBe(false)
    expect(isWarmboxError('error')).toBe(false)
  })
})
