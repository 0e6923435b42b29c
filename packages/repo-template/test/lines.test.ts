import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { createEmulator, createScriptedRuntime, type Emulator } from '@warmbox/e2b-emulator'
import { bootFromSpec, createTemplateApi, settleBackgroundBuilds } from '@warmbox/resolution'
import {
  createRepoTemplate,
  refreshRepoTemplate,
  type RefSelection,
  type RepoTemplateOptions,
} from '@warmbox/repo-template'
import { type Widgets, widgets } from './support/fixtures.ts'

let given: Widgets
let emulator: Emulator
let connection: { apiUrl: string; apiKey: string }
beforeEach(async () => {
  given = await widgets()
  emulator = createEmulator({ runtime: createScriptedRuntime() })
  const running = emulator
  onTestFinished(() => running.close())
  connection = (await emulator.listen()).connection
})

const optionsOf = (options: Partial<RepoTemplateOptions> = {}): RepoTemplateOptions => ({
  getRepositoryAccess: () => Promise.resolve(given.access),
  certificateAuthority: given.server.certificateAuthority,
  headTimeoutMs: 60_000,
  ...options,
})

/** A session: the refs it tried to boot, in order, and the rung it got. */
const start = async (options: Partial<RepoTemplateOptions> = {}) => {
  const tried: string[] = []
  const { ref, rung } = await bootFromSpec(createRepoTemplate(optionsOf(options)), {
    api: createTemplateApi(connection),
    boot: (wanted) => {
      tried.push(wanted)
      return Promise.resolve(wanted)
    },
  })
  await settleBackgroundBuilds()
  return { ref, rung, tried }
}

const tags = (): Readonly<Record<string, string>> =>
  emulator.control.templates().find(({ name }) => name.includes('mastra-repo'))?.tags ?? {}

describe('a build of another line', () => {
  const others: readonly [string, RefSelection][] = [
    ['a branch', { branch: 'feature' }],
    ['a tag', { tag: 'v1' }],
    ['a pull request', { pull: 7 }],
    ['a merge request', { mergeRequest: 9 }],
  ]

  test.each(others)('%s: never serves, feeds or advances the default branch', async (_name, selection) => {
    const theirs = await given.repository.commit({ 'README.md': 'theirs\n' }, { branch: 'feature' })
    for (const name of ['refs/tags/v1', 'refs/pull/7/head', 'refs/merge-requests/9/head']) {
      await given.repository.git('update-ref', name, theirs)
    }
    // Before the default branch has a build, and after: neither time does theirs stand in for it.
    const theirTag = (await refreshRepoTemplate(optionsOf(selection), connection)).ref.split(':')[1] ?? ''
    expect(Object.keys(tags())).not.toContain('current')
    const first = await start()
    expect(first).toMatchObject({ rung: 'built', ref: expect.stringContaining(`:sha-${given.sha}`) })
    const current = tags()['current']
    expect(current).toBe(tags()[`sha-${given.sha}`])
    await start(selection)
    expect(tags()['current']).toBe(current)

    const moved = await given.repository.commit({ 'README.md': 'moved\n' })
    const stale = await start()
    expect(stale).toMatchObject({ rung: 'stale', ref: expect.stringMatching(/:current$/) })
    expect(stale.tried.some((ref) => ref.includes(theirs))).toBe(false)
    expect(tags()['current']).toBe(tags()[`sha-${moved}`])
    expect(tags()).toHaveProperty([theirTag])
    expect(tags()[theirTag]).not.toBe(tags()['current'])
  })

  test.each(others.filter(([, { branch }]) => branch === undefined))(
    '%s: is not served by the default branch’s either',
    async (_name, selection) => {
      await start()
      const theirs = await given.repository.commit({ 'README.md': 'theirs\n' }, { branch: 'feature' })
      for (const name of ['refs/tags/v1', 'refs/pull/7/head', 'refs/merge-requests/9/head']) {
        await given.repository.git('update-ref', name, theirs)
      }
      expect(await start(selection)).toMatchObject({ rung: 'built', ref: expect.stringContaining(`:sha-${theirs}`) })
    },
  )
})

test('a token that stops working boots neither the exact nor the stale template of that repository', async () => {
  const { ref } = await start()
  expect(await start()).toMatchObject({ rung: 'exact', ref })
  const readyBefore = emulator.control.builds().length

  given.server.setToken('another')
  const revoked = await start()
  expect(revoked.rung).toBe('default')
  expect(revoked.tried.filter((tried) => tried.includes('mastra-repo'))).toEqual([])
  await given.repository.commit({ 'README.md': 'moved\n' })
  expect((await start()).tried.filter((tried) => tried.includes('mastra-repo'))).toEqual([])
  expect((await start({ fallbackTemplate: 'mine:1' })).tried).toEqual(['mine:1'])
  // Nothing of the repository is built for such a session: at most the default template is.
  expect(
    emulator.control
      .builds()
      .slice(readyBefore)
      .every(({ tags: names }) => names.includes('default')),
  ).toBe(true)
  await expect(refreshRepoTemplate(optionsOf(), connection)).rejects.toMatchObject({ code: 'ACCESS_REFUSED' })
})
