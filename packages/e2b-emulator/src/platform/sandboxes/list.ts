import { badRequest } from '../api-error.ts'
import { isoTime, type Platform } from '../platform.ts'
import { integerQuery, paginate } from '../query.ts'
import type { Schemas } from '../contract.ts'
import { route } from '../route.ts'
import type { SandboxRecord } from '../state.ts'
import { parseTemplateRef } from '../template-ref.ts'
import { findTemplate } from '../templates/resolve.ts'
import { describeListed } from './describe.ts'
import { isVisible } from './find.ts'

type Listed = Schemas['ListedSandbox']

const MAX_PAGE = 100

/** Both states unless asked for one; newest first unless asked otherwise. */
export const listSandboxes = route('get', '/v2/sandboxes', {
  handle(platform, { query, reply, url }) {
    const order = query('order') ?? 'desc'
    if (order !== 'asc' && order !== 'desc') throw badRequest('validation error: "order" must be asc or desc')
    const states = url.searchParams.getAll('state').flatMap((list) => list.split(','))
    const unknown = states.find((state) => state !== 'running' && state !== 'paused')
    if (unknown !== undefined) throw badRequest(`validation error: "state" must be running or paused, not ${unknown}`)

    const matching = filterSandboxes(platform, {
      metadata: query('metadata'),
      template: query('template'),
      startedAfter: query('startedAfter'),
    })
    const running = matching.filter(isRunning)
    const wanted = states.length === 0 ? matching : matching.filter(({ state }) => states.includes(state))
    const page = paginate(wanted, {
      keyOf: ({ startedAt, sandboxID }) => `${startedAt}__${sandboxID}`,
      order,
      limit: integerQuery('limit', query('limit'), { minimum: 1, maximum: MAX_PAGE }) ?? MAX_PAGE,
      nextToken: query('nextToken'),
    })
    const askedForRunning = states.length === 0 || states.includes('running')
    return reply(200, [...page.items], {
      ...page.headers,
      ...(askedForRunning ? { 'X-Total-Running': String(running.length) } : {}),
    })
  },
})

/** The older call: running sandboxes only, one page. */
export const listSandboxesV1 = route('get', '/sandboxes', {
  handle(platform, { query, reply }) {
    return reply(200, filterSandboxes(platform, { metadata: query('metadata') }).filter(isRunning))
  },
})

interface Filters {
  readonly metadata: string | undefined
  readonly template?: string | undefined
  readonly startedAfter?: string | undefined
}

const isRunning = ({ state }: Listed) => state === 'running'

function filterSandboxes(platform: Platform, filters: Filters): Listed[] {
  const metadata = parseMetadataFilter(filters.metadata)
  const templateId = templateFilter(platform, filters.template)
  const startedAfter = filters.startedAfter === undefined ? undefined : Date.parse(filters.startedAfter)
  if (Number.isNaN(startedAfter)) throw badRequest('validation error: "startedAfter" must be a date and time')
  const matching = [...platform.state.sandboxes.values()].filter(
    (sandbox) =>
      metadata.every(([key, value]) => sandbox.metadata?.[key] === value) &&
      (templateId === undefined || sandbox.templateId === templateId) &&
      (startedAfter === undefined || sandbox.startedAt > startedAfter),
  )
  return matching.flatMap(listed)
}

/** Lists lose sight of a sandbox that is being snapshotted, or show the paused state that was stored of it before. */
function listed(sandbox: SandboxRecord): Listed[] {
  if (!isVisible(sandbox)) return []
  if (sandbox.phase.name !== 'snapshotting') return [describeListed(sandbox)]
  const { stored } = sandbox
  return stored === undefined ? [] : [{ ...describeListed(sandbox), state: 'paused', endAt: isoTime(stored.storedAt) }]
}

/**
 * `key=value&…`, all of which must match. Keys and values are URI-encoded, then form-encoded when joined, then
 * encoded once more as a query value; the last layer is already undone here.
 */
function parseMetadataFilter(text: string | undefined): [string, string][] {
  if (text === undefined || text === '') return []
  try {
    return [...new URLSearchParams(text)].map(([key, value]) => [decodeURIComponent(key), decodeURIComponent(value)])
  } catch (cause) {
    throw Object.assign(badRequest('Invalid metadata filter'), { cause })
  }
}

/** No sandbox is based on an unknown template, and a tag says nothing about a sandbox. */
function templateFilter(platform: Platform, text: string | undefined): string | undefined {
  if (text === undefined || text === '') return undefined
  const ref = parseTemplateRef(text)
  if (ref.tag !== undefined) throw badRequest('template filter must not contain a tag')
  return findTemplate(platform, ref)?.id ?? ''
}
