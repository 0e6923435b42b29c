import { type ResolveContext, settleBackgroundBuilds } from '@warmbox/resolution'
import type { E2BSandbox } from '@warmbox/sandbox'
import { Template } from 'e2b'
import { HttpResponse } from 'msw'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { deferred, type FakeE2B, platform, sandboxOf } from './support/index.ts'

const started: E2BSandbox[] = []

/** What a start leaves to the background must not be asked of the next test's platform. */
afterEach(async () => {
  await Promise.all(started.splice(0).map((sandbox) => sandbox.destroy()))
  await settleBackgroundBuilds()
})

const session = (options: Parameters<typeof sandboxOf>[0]): E2BSandbox => {
  const sandbox = sandboxOf({ id: 'session-1', ...options })
  started.push(sandbox)
  return sandbox
}

const LOOKUP = 'GET /v2/sandboxes'
const TAGS = 'GET /templates/repo/tags'
const HEAD = 'head'
const CREATE = 'POST /v2/sandboxes'

/** As a repository's template does: the name is known once access was granted, the commit after the head was looked up. */
class Repository {
  accesses = 0
  lookUpHead: () => Promise<void> = () => Promise.resolve()

  readonly spec = {
    resolveSpec: async (context: ResolveContext = {}) => {
      this.accesses += 1
      context.expectName?.('repo')
      await this.lookUpHead()
      return { ref: 'repo:sha-1', template: Template().fromTemplate('base'), staleRef: 'repo:current' }
    },
  }
}

/** Lets nothing of the first group be answered before all of it was asked. */
function answerTogether(e2b: FakeE2B, repository: Repository, group: readonly string[]): readonly string[] {
  const asked: string[] = []
  const all = deferred()
  const arrive = async (what: string): Promise<void> => {
    asked.push(what)
    if (!group.includes(what)) return
    if (group.every((each) => asked.includes(each))) all.resolve()
    await all.promise
  }
  repository.lookUpHead = () => arrive(HEAD)
  e2b.faults.push(async ({ method, path }) => {
    await arrive(`${method} ${path}`)
    return undefined
  })
  return asked
}

/** The tags there are, whatever the state of their builds. */
function listTags(e2b: FakeE2B, tags: readonly string[]): void {
  e2b.faults.push(({ path }) =>
    path === '/templates/repo/tags'
      ? HttpResponse.json(tags.map((tag) => ({ tag, buildID: `b-${tag}`, createdAt: '2026-01-01T00:00:00Z' })))
      : undefined,
  )
}

/** Up to the create that gave a sandbox. What is built, and who else started, is asked in the background. */
const untilCreated = (asked: readonly string[], creates = 1): readonly string[] => {
  let left = creates
  return asked.slice(0, asked.findIndex((what) => what === CREATE && (left -= 1) === 0) + 1)
}

describe('a warm start', () => {
  test.each([
    ['exact', ['repo:sha-1', 'repo:current']],
    ['stale', ['repo:current']],
  ])('from the %s build takes two round trips: everything is asked together, then one create', async (rung, ready) => {
    const e2b = platform()
    for (const ref of ready) e2b.ready.add(ref)
    const repository = new Repository()
    const asked = answerTogether(e2b, repository, [LOOKUP, TAGS, HEAD])
    const sandbox = session({ template: repository.spec })

    await sandbox.start()

    expect(sandbox.lastBoot?.rung).toBe(rung)
    expect(untilCreated(asked).toSorted()).toEqual([LOOKUP, TAGS, CREATE, HEAD].toSorted())
    expect(untilCreated(asked).at(-1)).toBe(CREATE)
    expect(repository.accesses).toBe(1)
  })

  test('whose tag is there and not ready takes a third, and says so', async () => {
    const e2b = platform()
    e2b.ready.add('repo:current')
    listTags(e2b, ['sha-1', 'current'])
    const repository = new Repository()
    const sandbox = session({ template: repository.spec })

    await sandbox.start()

    const asked = e2b.requests.map(({ method, path }) => `${method} ${path}`)
    expect(untilCreated(asked, 2).toSorted()).toEqual([LOOKUP, TAGS, CREATE, CREATE].toSorted())
    expect(sandbox.lastBoot?.attempts).toMatchObject([
      { rung: 'exact', ref: 'repo:sha-1', outcome: 'unusable' },
      { rung: 'stale', ref: 'repo:current', outcome: 'booted' },
    ])
  })
})

describe('a start that finds its sandbox', () => {
  test('asks for access once, changes nothing, and leaves no rejection behind', async () => {
    const e2b = platform()
    const found = e2b.add({ metadata: { 'mastra-sandbox-id': 'session-1' } })
    const unhandled = vi.fn<() => void>()
    process.on('unhandledRejection', unhandled)
    const repository = new Repository()
    // The head never answers, and minds no signal.
    repository.lookUpHead = () => new Promise(() => undefined)
    try {
      const sandbox = session({ template: repository.spec })
      expect(await sandbox.start()).toEqual({ outcome: 'connected' })
      await new Promise((resolve) => setImmediate(resolve))
    } finally {
      process.off('unhandledRejection', unhandled)
    }
    expect(unhandled).not.toHaveBeenCalled()
    expect(repository.accesses).toBe(1)
    expect(e2b.paths('POST')).toEqual([`/v2/sandboxes/${found.id}/connect`])
  })

  test('asks for nothing of the template where the overlap is switched off', async () => {
    const e2b = platform()
    e2b.add({ metadata: { 'mastra-sandbox-id': 'session-1' } })
    const repository = new Repository()
    await session({ template: repository.spec, overlapLookup: false }).start()
    expect(repository.accesses).toBe(0)
    expect(e2b.paths('GET')).toEqual(['/v2/sandboxes'])
  })

  test('and one that finds none asks afterwards', async () => {
    const e2b = platform()
    e2b.ready.add('repo:sha-1')
    const repository = new Repository()
    let lookedUp = false
    e2b.faults.push(({ method, path }) => {
      if (`${method} ${path}` === LOOKUP) lookedUp = true
      return undefined
    })
    repository.lookUpHead = async () => expect(lookedUp).toBe(true)
    await session({ template: repository.spec, overlapLookup: false }).start()
    expect(repository.accesses).toBe(1)
    const asked = e2b.requests.map(({ method, path }) => `${method} ${path}`)
    expect(untilCreated(asked)).toEqual([LOOKUP, TAGS, CREATE])
  })
})
