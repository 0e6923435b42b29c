import { Sandbox, Template } from 'e2b'
import { describe, expect, test } from 'vitest'
import { build, request } from '../support/builds.ts'
import { startEmulator } from '../support/emulator.ts'

describe('template references', () => {
  test('are trimmed and lower-cased before they are matched [R1]', async () => {
    const { api, connection } = await startEmulator()
    await build({ api }, ' My-Template : V1.2_x ')
    expect(await Template.exists('MY-TEMPLATE:v1.2_X', connection)).toBe(true)
    expect(await Template.getTags('my-template', connection)).toMatchObject([{ tag: 'v1.2_x' }])
  })

  test.each(['a.b', 'a+b', 'name:', 'name:a/b', 'name:a@b', 'name:a:b', '/x', 'a/b/c', ''])(
    'refuse %j [R2] [R4]',
    async (name) => {
      const { api } = await startEmulator()
      const { error, response } = await api.POST('/v3/templates', { body: { name } })
      expect(response.status).toBe(400)
      expect(error).toMatchObject({ code: 400 })
    },
  )

  test.each(['d41d8cd98f00b204e9800998ecf8427e', '6ba7b810-9dad-11d1-80b4-00c04fd430c8'])(
    'refuse a tag that reads as a UUID: %s [R6]',
    async (tag) => {
      const { api } = await startEmulator()
      const { error, response } = await api.POST('/v3/templates', { body: { name: `name:${tag}` } })
      expect(response.status).toBe(400)
      expect(error?.message).toBe(`Invalid tag: '${tag}' cannot be a UUID`)
    },
  )

  test('accept sha- tags of 64 hex digits [R6]', async () => {
    const { api } = await startEmulator()
    const ready = await build({ api }, `name:sha-${'ab'.repeat(32)}`)
    expect(ready.status).toBe('ready')
  })

  test('resolve the team namespace first, then promoted names, then template ids [R10] [R17]', async () => {
    const { api, emulator, connection } = await startEmulator({ team: 'acme' })
    emulator.control.addForeignTemplate({ name: 'tool', namespace: null, public: true })
    expect(await Template.exists('tool', connection)).toBe(true)
    const own = await build({ api }, 'tool')
    expect((await api.GET('/templates/aliases/{alias}', { params: { path: { alias: 'tool' } } })).data).toEqual({
      templateID: own.templateID,
      public: false,
    })
    const { data } = await api.GET('/templates/aliases/{alias}', { params: { path: { alias: own.templateID } } })
    expect(data?.templateID).toBe(own.templateID)
    expect(await Template.exists('acme/tool:default', connection)).toBe(true)
  })

  test('with a foreign namespace are refused for builds and tags [R12]', async () => {
    const { api, connection } = await startEmulator({ team: 'acme' })
    expect((await api.POST('/v3/templates', { body: { name: 'other/name' } })).response.status).toBe(400)
    expect(
      (await api.GET('/templates/aliases/{alias}', { params: { path: { alias: 'other/name' } } })).response.status,
    ).toBe(400)
    await expect(Template.assignTags('other/name:a', 'b', connection)).rejects.toMatchObject({ statusCode: 400 })
  })

  test('accept a build id in place of a tag [R7] [R21]', async () => {
    const { api, connection } = await startEmulator()
    const first = await build({ api }, 'name:v1')
    await build({ api }, 'name:v1')
    expect(await Template.exists(`name:${first.buildID}`, connection)).toBe(true)
    const sandbox = await Sandbox.create(`name:${first.buildID}`, connection)
    expect(await sandbox.files.read('/.e2b')).toBe(`TEMPLATE_ID=${first.templateID}\nBUILD_ID=${first.buildID}\n`)
  })

  test('that equal an existing template id cannot be built [R14]', async () => {
    const { api } = await startEmulator()
    const { templateID } = await request(api, 'name')
    const { response } = await api.POST('/v3/templates', { body: { name: templateID } })
    expect(response.status).toBe(409)
  })
})
