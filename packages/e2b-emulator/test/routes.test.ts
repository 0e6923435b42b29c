import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { ROUTES } from '../src/platform/routes.ts'
import { supportMatrix, withMatrix } from '../src/support-matrix.ts'

/** Calls of an SDK's typed client, read out of what is published. Volume contents and files of sandboxes are other services with clients of their own. */
async function callsOf(sdk: 'e2b' | 'e2b-floor'): Promise<string[]> {
  const source = await readFile(fileURLToPath(import.meta.resolve(sdk)), 'utf8')
  const calls = [...source.matchAll(/\.api\.(GET|POST|PUT|PATCH|DELETE)\(\s*["'`]([^"'`]+)/g)]
    .map(([, method = '', path = '']) => `${method.toLowerCase()} ${path}`)
    .filter((call) => !/ \/(?:volumecontent\/|files$|health$)/.test(call))
  return [...new Set(calls)]
}

/** Made by the classes Secret and Volume; these may be answered 501, by name. */
const isSecretOrVolume = (call: string) => / \/(?:secrets|volumes)(?:\/|$)/.test(call)

describe.each(['e2b', 'e2b-floor'] as const)('the route table and the SDK %s', (sdk) => {
  test('has a row for every call', async () => {
    const calls = await callsOf(sdk)
    const names = new Set<string>(ROUTES.map(({ name }) => name))
    expect(calls.length).toBeGreaterThan(25)
    expect(calls.filter((call) => !names.has(call))).toEqual([])
  })

  test('answers every call of the classes Sandbox and Template', async () => {
    const answered = new Set<string>(ROUTES.filter(({ support }) => support.level !== 'none').map(({ name }) => name))
    const calls = (await callsOf(sdk)).filter((call) => !isSecretOrVolume(call))
    expect(calls.length).toBeGreaterThan(20)
    expect(calls.filter((call) => !answered.has(call))).toEqual([])
  })
})

test('the oldest and the newest SDK differ in how they create and connect', async () => {
  const [newest, floor] = [await callsOf('e2b'), await callsOf('e2b-floor')]
  expect(newest.filter((call) => !floor.includes(call))).toEqual([
    'post /v2/sandboxes',
    'post /v2/sandboxes/{sandboxID}/connect',
  ])
  expect(floor.filter((call) => !newest.includes(call))).toEqual([
    'post /sandboxes',
    'post /sandboxes/{sandboxID}/connect',
  ])
})

describe('the route table', () => {
  test('has each row once', () => {
    expect(new Set(ROUTES.map(({ name }) => name)).size).toBe(ROUTES.length)
  })

  test('is what the README shows (pnpm matrix writes it)', async () => {
    const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8')
    expect(withMatrix(readme, supportMatrix())).toBe(readme)
  })
})
