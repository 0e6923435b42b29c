import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { ROUTES } from '../src/platform/routes.ts'
import { supportMatrix, withMatrix } from '../src/support-matrix.ts'

const sdk = await readFile(fileURLToPath(import.meta.resolve('e2b')), 'utf8')

/** Calls of the SDK's typed client. Volume contents and files of sandboxes are other services with clients of their own. */
const calls = [...sdk.matchAll(/\.api\.(GET|POST|PUT|PATCH|DELETE)\(\s*["'`]([^"'`]+)/g)]
  .map(([, method = '', path = '']) => `${method.toLowerCase()} ${path}`)
  .filter((call) => !/ \/(?:volumecontent\/|files$|health$)/.test(call))

describe('the route table', () => {
  test('has a row for every call of the installed SDK', () => {
    const names = ROUTES.map(({ name }) => name)
    expect(calls.length).toBeGreaterThan(20)
    expect([...new Set(calls)].filter((call) => !names.includes(call))).toEqual([])
  })

  test('has each row once', () => {
    expect(new Set(ROUTES.map(({ name }) => name)).size).toBe(ROUTES.length)
  })

  test('is what the README shows (pnpm matrix writes it)', async () => {
    const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8')
    expect(withMatrix(readme, supportMatrix())).toBe(readme)
  })
})
