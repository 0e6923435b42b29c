import {
  ensureTemplate,
  type IncrementalBuilds,
  type NamedTemplateSpec,
  settleBackgroundBuilds,
  type TagAssignment,
} from '@warmbox/resolution'
import { Template } from 'e2b'
import { expect, test } from 'vitest'
import { problem } from './support/fake-platform.ts'
import { named, REF, rejection, STALE, World } from './support/world.ts'

const OLDER = 'mastra-repo-abc:sha-0'
const CLEAN = 'mastra-repo-abc:clean'
const shortcut = Template().fromTemplate(OLDER).runCmd('true')

/** A world with an earlier build, and a spec that offers to go on from it. */
const world = async (from?: IncrementalBuilds['from']) => {
  const made = new World()
  made.api.seed(OLDER, 'ready')
  await made.api.assignTags(OLDER, ['current'])
  const asked: (readonly TagAssignment[])[] = []
  const spec: NamedTemplateSpec = named({
    buildTags: ['current'],
    isCurrent: async () => true,
    incremental: {
      from: (tags) => {
        asked.push(tags)
        return from === undefined ? { parent: OLDER, template: shortcut } : from(tags)
      },
      cleanTags: ['clean'],
    },
  })
  const built = () => made.api.builds.slice(1).map(({ request }) => request?.template)
  return { made, spec, asked, built }
}

test('a build goes on from an earlier one, moves no tag of a clean one, and says from which', async () => {
  const { made, spec, asked, built } = await world()
  const result = await ensureTemplate(spec, made.options)
  expect(result).toEqual({ ref: REF, action: 'built', build: 'incremental', parent: OLDER })
  expect(built()).toEqual([shortcut])
  expect(asked[0]?.map(({ tag }) => tag)).toEqual(['sha-0', 'current'])
  expect(made.eventsOf('build-start')).toMatchObject([{ parent: OLDER }])
  expect(made.eventsOf('build-end')).toMatchObject([{ parent: OLDER, outcome: 'ready' }])
  expect(made.eventsOf('advance')).toMatchObject([{ tags: ['current'], outcome: 'moved' }])
  expect(made.api.buildOf(CLEAN)).toBeUndefined()
})

test('a build nobody offers a parent for is clean, and its tags say so', async () => {
  const { made, spec, built } = await world(() => undefined)
  expect(await ensureTemplate(spec, made.options)).toEqual({ ref: REF, action: 'built', build: 'clean' })
  expect(built()).toEqual([spec.template])
  expect(made.eventsOf('build-start')).toEqual([{ type: 'build-start', ref: REF, background: false }])
  expect(made.api.buildOf(CLEAN)?.id).toBe(made.api.buildOf(REF)?.id)
  expect(made.api.buildOf(STALE)?.id).toBe(made.api.buildOf(REF)?.id)
})

test.each([
  ['a step', { message: 'exit status 1', step: '3' }, 1],
  ['its parent', { message: 'no such template', step: 'base' }, 3],
])('one that fails for %s is built from nothing', async (_what, end, tries) => {
  const { made, spec, built } = await world()
  made.api.scripts.push(...Array.from({ length: tries }, () => ({ end })))
  expect(await ensureTemplate(spec, made.options)).toMatchObject({ action: 'built', build: 'clean' })
  expect(built()).toEqual([...Array.from({ length: tries }, () => shortcut), spec.template])
  expect(made.eventsOf('warning')).toMatchObject([{ code: 'INCREMENTAL_BUILD_FAILED', ref: REF }])
  expect(made.eventsOf('build-end').at(-1)).not.toHaveProperty('parent')
  expect(made.api.buildOf(CLEAN)?.id).toBe(made.api.buildOf(REF)?.id)
})

test('where the clean one fails too, that is the failure, and it is not tried again', async () => {
  const { made, spec, built } = await world()
  made.api.scripts.push({ end: { message: 'first', step: '3' } }, { end: { message: 'second', step: '9' } })
  expect(await rejection(ensureTemplate(spec, made.options))).toMatchObject({ code: 'BUILD_STEP_FAILED', step: '9' })
  const result = await made.start({ ...spec, staleRef: STALE })
  await settleBackgroundBuilds()
  expect(result.rung).toBe('stale')
  expect(built()).toHaveLength(2)
})

test('one that is refused for the account is not tried from nothing', async () => {
  const { made, spec } = await world()
  made.api.fault = ({ method }) => (method === 'requestBuild' ? problem('QUOTA_EXCEEDED') : undefined)
  expect(await rejection(ensureTemplate(spec, made.options))).toMatchObject({ code: 'QUOTA_EXCEEDED' })
  expect(made.api.count('requestBuild')).toBe(1)
})

test('a forced build is clean', async () => {
  const { made, spec, asked, built } = await world()
  expect(await ensureTemplate(spec, { ...made.options, force: true })).toMatchObject({ build: 'clean' })
  expect(asked).toEqual([])
  expect(built()).toEqual([spec.template])
})

test('a build of somebody else moves no tag of a clean one', async () => {
  const { made, spec } = await world(() => undefined)
  made.api.seed(REF, 'building')
  expect(await ensureTemplate(spec, made.options)).toEqual({ ref: REF, action: 'built' })
  expect(made.eventsOf('advance')).toMatchObject([{ tags: ['current'], outcome: 'moved' }])
})

test('the background build of a stale start goes on from the earlier one too', async () => {
  const { made, spec, built } = await world()
  expect((await made.start({ ...spec, staleRef: STALE })).rung).toBe('stale')
  await settleBackgroundBuilds()
  expect(built()).toEqual([shortcut])
  expect(made.eventsOf('build-start')).toMatchObject([{ parent: OLDER, background: true }])
})

test('for a session too, the failure of the one is no reason not to build the other', async () => {
  const { made, spec, built } = await world()
  made.api.scripts.push({ end: { message: 'exit status 1', step: '3' } })
  await made.start({ ...spec, staleRef: STALE })
  await settleBackgroundBuilds()
  expect(built()).toEqual([shortcut, spec.template])
  expect(made.api.buildOf(REF)?.state).toBe('ready')
})
