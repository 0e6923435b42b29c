import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createContext, runInContext } from 'node:vm'
import { repoTemplateRef } from '@warmbox/identity'
import { build } from 'tsup'
import { afterAll, beforeAll, expect, test } from 'vitest'

const identity = {
  cloneUrl: 'https://[2001:DB8::0:1]:8443/acme/widgets.git',
  setupCommand: 'echo "grüß 😀"',
  buildEnv: { NPM_TOKEN: { value: 'secret', version: 'v1' } },
}

let directory: string
const script = (name: string): Promise<string> => readFile(join(directory, `${name}.js`), 'utf8')

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'warmbox-bundle-'))
  await build({
    config: false,
    entry: {
      page: fileURLToPath(new URL('fixtures/browser-page.ts', import.meta.url)),
      worker: fileURLToPath(new URL('fixtures/worker.ts', import.meta.url)),
    },
    outDir: directory,
    outExtension: () => ({ js: '.js' }),
    format: 'iife',
    platform: 'browser',
    target: 'es2023',
    minify: true,
    noExternal: [/.*/],
    silent: true,
    esbuildOptions: (options) => {
      options.conditions = ['@warmbox/source']
    },
  })
})

afterAll(() => rm(directory, { recursive: true, force: true }))

/** A global object with the language itself and the two things every browser and worker has beside it: nothing of Node. */
const emptyWorld = (globals: Readonly<Record<string, unknown>>) => createContext({ URL, TextEncoder, ...globals })

test('a bundle for a page gives the same ref, with nothing of Node around it', async () => {
  const window: { identity: typeof identity; answer?: string } = { identity }
  runInContext(await script('page'), emptyWorld({ window }))
  expect(window.answer).toBe(repoTemplateRef(identity))
})

test('a bundle for a worker gives the same ref, with nothing of Node around it', async () => {
  const answers: unknown[] = []
  const listeners: ((event: { data: typeof identity }) => void)[] = []
  const self = { addEventListener: (_: string, listener: (typeof listeners)[number]) => listeners.push(listener) }
  runInContext(await script('worker'), emptyWorld({ self, postMessage: (answer: unknown) => answers.push(answer) }))
  for (const listener of listeners) listener({ data: identity })
  expect(answers).toEqual([repoTemplateRef(identity)])
})

test.each(['page', 'worker'])('the bundle for a %s asks for no module', async (name) => {
  expect(await script(name)).not.toMatch(/\brequire\(|\bimport\(|node:/)
})
