import { repoTemplateRef } from '@warmbox/identity'
import { afterEach, expect, test, vi } from 'vitest'

afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
})

const identity = {
  cloneUrl: 'https://GITHUB.com/acme/WIDGETS.git',
  buildEnv: { KEY: '1', YARN_X: '2', NPM_TOKEN: '3' },
  extra: { İ: '1', i: '2', ä: '3', z: '4' },
}

const impure = (): never => {
  throw new Error('impure')
}

test('neither locale, clock nor chance is asked', () => {
  const expected = repoTemplateRef(identity)
  vi.spyOn(String.prototype, 'localeCompare').mockImplementation(impure)
  vi.spyOn(String.prototype, 'toLocaleLowerCase').mockImplementation(impure)
  vi.spyOn(String.prototype, 'toLocaleUpperCase').mockImplementation(impure)
  vi.spyOn(String.prototype, 'normalize').mockImplementation(impure)
  vi.spyOn(Intl, 'Collator').mockImplementation(impure)
  vi.spyOn(Math, 'random').mockImplementation(impure)
  vi.spyOn(Date, 'now').mockImplementation(impure)
  vi.stubGlobal('crypto', undefined)
  vi.stubGlobal('process', undefined)
  vi.stubGlobal('Buffer', undefined)
  const actual = repoTemplateRef(identity)
  vi.unstubAllGlobals()
  expect(actual).toBe(expected)
})

test('inputs are left as they were', () => {
  const deeplyFrozen = Object.freeze({
    cloneUrl: identity.cloneUrl,
    setupCommand: Object.freeze(['b', 'a']),
    buildEnv: Object.freeze({ ...identity.buildEnv }),
  })
  expect(repoTemplateRef(deeplyFrozen)).toBe(repoTemplateRef({ ...deeplyFrozen }))
})
