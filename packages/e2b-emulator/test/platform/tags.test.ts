import { Sandbox, Template } from 'e2b'
import { describe, expect, test } from 'vitest'
import { build, request } from '../support/builds.ts'
import { startEmulator } from '../support/emulator.ts'

const buildIdIn = async (sandbox: Sandbox) => (await sandbox.files.read('/.e2b')).split('BUILD_ID=')[1]?.trim()

describe('tags', () => {
  test('are attached when the build is requested [T1]', async () => {
    const { api, connection } = await startEmulator()
    const { buildID } = await request(api, 'name:v1', ['current'])
    const tags = await Template.getTags('name', connection)
    expect(tags.map(({ tag, buildId }) => [tag, buildId])).toEqual([
      ['current', buildID],
      ['v1', buildID],
    ])
  })

  test('no default is created where a tag is named [T3]', async () => {
    const { api, connection } = await startEmulator()
    await build({ api }, 'name:v1')
    await expect(Sandbox.create('name', connection)).rejects.toMatchObject({
      statusCode: 404,
      message: "404: tag 'default' does not exist for template 'name'",
    })
  })

  test('default is used where no tag is named [T3] [T6]', async () => {
    const { api, connection } = await startEmulator()
    await build({ api }, 'name')
    expect((await Template.getTags('name', connection)).map(({ tag }) => tag)).toEqual(['default'])
  })

  test('name:default with other tags yields only the others [T4]', async () => {
    const { api, connection } = await startEmulator()
    await request(api, 'name:default', ['x'])
    expect((await Template.getTags('name', connection)).map(({ tag }) => tag)).toEqual(['x'])
  })

  test('a failed rebuild leaves the tag on the previous ready build, and hides it in the list [T2] [T8]', async () => {
    const { api, emulator, connection } = await startEmulator()
    const good = await build({ api }, 'name:v1')
    emulator.control.failNextBuild()
    const bad = await build({ api }, 'name:v1')
    expect(bad.status).toBe('error')
    expect((await Template.getTags('name', connection)).map(({ buildId }) => buildId)).toEqual([bad.buildID])
    expect(await buildIdIn(await Sandbox.create('name:v1', connection))).toBe(good.buildID)
  })

  test('the newest assignment wins, so a tag can be moved back to an older build [T14]', async () => {
    const { api, connection } = await startEmulator()
    const first = await build({ api }, 'name:v1', [], ['current'])
    const second = await build({ api }, 'name:v2', [], ['current'])
    expect(await buildIdIn(await Sandbox.create('name:current', connection))).toBe(second.buildID)
    expect(await Template.assignTags('name:v1', 'current', connection)).toEqual({
      buildId: first.buildID,
      tags: ['current'],
    })
    expect(await buildIdIn(await Sandbox.create('name:current', connection))).toBe(first.buildID)
  })

  test('assigning needs a ready build [T12]', async () => {
    const { api, connection } = await startEmulator()
    await request(api, 'name:v1')
    await expect(Template.assignTags('name:v1', 'current', connection)).rejects.toMatchObject({ statusCode: 404 })
    await expect(Template.assignTags('unknown:v1', 'current', connection)).rejects.toMatchObject({ statusCode: 404 })
    await expect(Template.assignTags('base:default', 'mine', connection)).rejects.toMatchObject({ statusCode: 403 })
  })

  test('removing forgets the whole history of a tag and makes its builds unreachable [T18] [R8]', async () => {
    const { api, connection } = await startEmulator()
    const ready = await build({ api }, 'name:v1')
    await Template.removeTags('name', 'v1', connection)
    expect(await Template.getTags('name', connection)).toEqual([])
    await expect(Sandbox.create(`name:${ready.buildID}`, connection)).rejects.toMatchObject({ statusCode: 404 })
  })

  test('removing answers 204 for tags that never existed, 400 for default and for a name with a tag [T16]', async () => {
    const { api, connection } = await startEmulator()
    await build({ api }, 'name:v1')
    await expect(Template.removeTags('name', 'never', connection)).resolves.toBeUndefined()
    await expect(Template.removeTags('name', 'default', connection)).rejects.toMatchObject({ statusCode: 400 })
    await expect(Template.removeTags('name:v1', 'v1', connection)).rejects.toMatchObject({ statusCode: 400 })
    await expect(Template.removeTags('unknown', 'v1', connection)).rejects.toMatchObject({ statusCode: 404 })
  })

  test('listing ignores a tag in the path and refuses foreign templates', async () => {
    const { api, connection } = await startEmulator()
    await build({ api }, 'name:v1')
    expect(await Template.getTags('name:other', connection)).toMatchObject([{ tag: 'v1' }])
    await expect(Template.getTags('base', connection)).rejects.toMatchObject({ statusCode: 403 })
    await expect(Template.getTags('unknown', connection)).rejects.toMatchObject({ statusCode: 404 })
  })
})
