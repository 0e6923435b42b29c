import { readFile } from 'node:fs/promises'
import { http, HttpResponse } from 'msw'
import { expect, test } from 'vitest'
import { failure, sandboxOf } from './support/index.ts'
import { network } from './support/network.ts'

const manifest = async (url: URL | string): Promise<Record<string, unknown>> => {
  const parsed: unknown = JSON.parse(await readFile(new URL(url), 'utf8'))
  if (typeof parsed !== 'object' || parsed === null) throw new TypeError(`${String(url)} holds no object`)
  return { ...parsed }
}

const floor = process.env.WARMBOX_TEST_PEERS === 'floor'
const peers = floor ? 'the lowest declared' : 'the newest'

/** The lowest version of the range this package declares, or the version installed to develop against. */
async function wanted(name: string): Promise<unknown> {
  if (!floor) return (await manifest(new URL(`../node_modules/${name}/package.json`, import.meta.url))).version
  const { peerDependencies } = await manifest(new URL('../package.json', import.meta.url))
  const range: unknown = Reflect.get(Object(peerDependencies), name)
  return /\d+\.\d+\.\d+/.exec(String(range))?.[0]
}

test(`this run is on ${peers} e2b`, async () => {
  const agents: (string | null)[] = []
  network.use(
    http.all('*', ({ request }) => {
      agents.push(request.headers.get('user-agent'))
      return HttpResponse.json({ code: 401, message: 'no' }, { status: 401 })
    }),
  )
  await failure(sandboxOf().start())

  const version = await wanted('e2b')
  expect(version).toMatch(/^2\./)
  // What the SDK that this package's source has loaded says of itself.
  expect(agents[0]).toMatch(new RegExp(`/${String(version).replaceAll('.', '\\.')}(?![\\d.])`))
})

test(`this run is on ${peers} @mastra/core`, async () => {
  const sandbox = sandboxOf()
  const { stack = '' } = Object(
    await failure(
      Promise.resolve().then(() =>
        sandbox.setEnv(() => {
          throw new Error('Where am I called from?')
        }),
      ),
    ),
  )
  // The base class of the very sandbox under test names its file.
  const root = /(?:file:\/\/)?(\/[^\s():]*\/node_modules\/(?:@mastra\/core|mastra-core-floor))\/dist\//.exec(stack)?.[1]
  expect(root, stack).toBeDefined()
  const loaded = await manifest(`file://${root}/package.json`)

  expect(loaded).toMatchObject({ name: '@mastra/core', version: await wanted('@mastra/core') })
})
