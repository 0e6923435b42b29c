import { createEmulator, probeNamespaces } from '@warmbox/e2b-emulator'
import { bootFromSpec, createTemplateApi, settleBackgroundBuilds, type NamedTemplateSpec } from '@warmbox/resolution'
import { Sandbox, Template } from 'e2b'
import { http, passthrough } from 'msw'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { network } from './support/network.ts'

/** The whole of it against a platform that builds: real steps, real sandboxes, the unmodified SDK. */
const namespaces = await probeNamespaces()
const without = namespaces.available ? '' : ` (skipped: ${namespaces.reason})`
const emulator = createEmulator()
let connection = { apiKey: '', apiUrl: '', sandboxUrl: '' }

beforeAll(async () => {
  if (namespaces.available) connection = (await emulator.listen()).connection
})

afterAll(async () => {
  await settleBackgroundBuilds()
  await emulator.close()
})

const release = (version: string, step = `echo ${version} >/home/user/version`): NamedTemplateSpec => ({
  ref: `release:${version}`,
  template: Template().fromBaseImage().runCmd(step),
  staleRef: 'release:current',
  buildTags: ['current'],
  isCurrent: async () => true,
})

const boot = async (spec: NamedTemplateSpec) => {
  const { value, rung } = await bootFromSpec(spec, {
    api: createTemplateApi(connection),
    boot: (ref, signal) => Sandbox.create(ref, { ...connection, signal }),
  })
  const version = await value.files.read('/home/user/version').catch(() => 'none')
  await value.kill()
  return [rung, version.trim()]
}

test.skipIf(!namespaces.available)(
  `a release is built, found, followed by the next one and never replaced by a broken one${without}`,
  { timeout: 120_000 },
  async () => {
    network.use(http.all(`${connection.apiUrl}/*`, () => passthrough()))
    expect(await boot(release('1'))).toEqual(['built', '1'])
    expect(await boot(release('1'))).toEqual(['exact', '1'])
    expect(await boot(release('2'))).toEqual(['stale', '1'])
    await settleBackgroundBuilds()
    expect(await boot(release('2'))).toEqual(['exact', '2'])
    expect(await boot(release('3', 'false'))).toEqual(['stale', '2'])
    await settleBackgroundBuilds()
    expect(await boot(release('3', 'false'))).toEqual(['stale', '2'])
    expect(await boot({ ...release('4', 'false'), staleRef: 'release:never' })).toEqual(['default', 'none'])
  },
)
