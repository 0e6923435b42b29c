import { Template } from 'e2b'
import { describe, expect, test } from 'vitest'
import { build, request } from '../support/builds.ts'
import { startEmulator } from '../support/emulator.ts'

describe('Template.exists', () => {
  test('a bare name exists as soon as a build was requested, even if the only build failed [R3] [R19]', async () => {
    const { api, emulator, connection } = await startEmulator()
    expect(await Template.exists('name', connection)).toBe(false)
    await request(api, 'name:v1')
    expect(await Template.exists('name', connection)).toBe(true)
    emulator.control.failNextBuild()
    expect((await build({ api }, 'broken:v1')).status).toBe('error')
    expect(await Template.exists('broken', connection)).toBe(true)
  })

  test('a name with a tag exists only when the tag has a ready build [R16]', async () => {
    const { api, connection } = await startEmulator()
    await request(api, 'name:v1')
    expect(await Template.exists('name:v1', connection)).toBe(false)
    await build({ api }, 'name:v1')
    expect(await Template.exists('name:v1', connection)).toBe(true)
    expect(await Template.exists('name:v2', connection)).toBe(false)
  })

  test('a literal :default asks for that tag', async () => {
    const { api, connection } = await startEmulator()
    await build({ api }, 'name:v1')
    expect(await Template.exists('name:default', connection)).toBe(false)
    await build({ api }, 'name')
    expect(await Template.exists('name:default', connection)).toBe(true)
  })

  test('a promoted public name answers 403, which the SDK takes for any tag existing [R18]', async () => {
    const { api, connection } = await startEmulator()
    const { response, error } = await api.GET('/templates/aliases/{alias}', {
      params: { path: { alias: 'base:nope' } },
    })
    expect(response.status).toBe(403)
    expect(error).toEqual({ code: 403, message: "You don't have access to sandbox template 'base'" })
    expect(await Template.exists('base:nope', connection)).toBe(true)
  })

  test('a foreign template id answers 403', async () => {
    const { emulator, api } = await startEmulator()
    const alias = emulator.control.addForeignTemplate({ name: 'theirs', namespace: 'them', public: false })
    const { response } = await api.GET('/templates/aliases/{alias}', { params: { path: { alias } } })
    expect(response.status).toBe(403)
  })
})
