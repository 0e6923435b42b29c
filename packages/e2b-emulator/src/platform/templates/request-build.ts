import { badRequest, conflict, quotaExceeded } from '../api-error.ts'
import { arrayOf, integer, object, optional, string } from '../check.ts'
import type { Schemas } from '../contract.ts'
import type { Platform } from '../platform.ts'
import { route } from '../route.ts'
import type { BuildRecord, TemplateRecord } from '../state.ts'
import { assignableTag, DEFAULT_TAG } from '../template-ref.ts'
import { parseOwnRef } from './access.ts'
import { registerTemplate } from './register.ts'
import { namesOf } from './resolve.ts'

const WAITING_LIMIT_MS = 40 * 60 * 1000
const MAX_CPU_COUNT = 32
const MAX_MEMORY_MB = 65_536

const bodyCheck = object<Schemas['TemplateBuildRequestV3']>({
  alias: optional(string),
  name: optional(string),
  tags: optional(arrayOf(string)),
  cpuCount: optional(integer({ minimum: 1 })),
  memoryMB: optional(integer({ minimum: 128 })),
  minFreeDiskMb: optional(integer({ minimum: 0 })),
  teamID: optional(string),
})

/** Registers a build. Its tags are attached at once; they resolve to it as soon as it is ready. */
export const requestBuild = route('post', '/v3/templates', {
  body: bodyCheck,
  gap: 'minFreeDiskMb is checked and ignored',
  handle(platform, { body, reply }) {
    const named = body.name ?? body.alias
    if (named === undefined || named === '') throw badRequest('Name is required')
    const ref = parseOwnRef(platform, named)
    const tags = requestedTags(ref.tag, body.tags)
    const resources = checkResources(body)
    const { templates, deletedTemplates } = platform.state
    if (templates.has(ref.name) || deletedTemplates.has(ref.name))
      throw conflict(`Alias '${ref.name}' is already used as a template ID`)

    const existing = ownTemplateNamed(platform, ref.name)
    const competing = existing === undefined ? [] : overlappingBuilds(platform, existing, tags)
    assertBuildSlot(platform, competing)
    for (const build of competing) supersede(platform, build)

    const template = existing ?? registerTemplate(platform, { name: ref.name, source: { kind: 'build' } })
    const now = platform.clock.now()
    const build: BuildRecord = {
      id: platform.identifiers.build(),
      templateId: template.id,
      tags,
      ...resources,
      createdAt: now,
      updatedAt: now,
      state: { status: 'waiting' },
      logs: [],
    }
    platform.state.builds.set(build.id, build)
    template.assignments = [...template.assignments, ...tags.map((tag) => ({ tag, buildId: build.id, createdAt: now }))]
    template.updatedAt = now
    ageOut(platform, build)
    return reply(202, {
      templateID: template.id,
      buildID: build.id,
      ...namesOf(template),
      tags: [...tags],
      public: template.public,
    })
  },
})

/** `default` only where no other tag is named; `name:default` with other tags yields only those. */
function requestedTags(refTag: string | undefined, optionTags: readonly string[] | undefined): readonly string[] {
  const fromRef = refTag === undefined || refTag === DEFAULT_TAG ? [] : [assignableTag(refTag)]
  const tags = new Set([...fromRef, ...(optionTags ?? []).map(assignableTag)])
  return tags.size === 0 ? [DEFAULT_TAG] : [...tags]
}

function checkResources(body: Schemas['TemplateBuildRequestV3']) {
  const { cpuCount = 2, memoryMB = 1024 } = body
  if (cpuCount > MAX_CPU_COUNT) throw badRequest(`CPU count can't be higher than ${MAX_CPU_COUNT}`)
  if (cpuCount !== 1 && cpuCount % 2 !== 0) throw badRequest('CPU count must be 1 or an even number')
  if (memoryMB > MAX_MEMORY_MB) throw badRequest(`Memory can't be higher than ${MAX_MEMORY_MB} MiB`)
  if (memoryMB % 2 !== 0) throw badRequest('Memory must be divisible by 2')
  return { cpuCount, memoryMB }
}

const ownTemplateNamed = (platform: Platform, name: string) =>
  [...platform.state.templates.values()].find(
    (template) => template.namespace === platform.team.slug && template.name === name,
  )

/** Unfinished builds of the template that share a tag with the new one. */
export function overlappingBuilds(
  platform: Platform,
  template: TemplateRecord,
  tags: readonly string[],
): BuildRecord[] {
  return [...platform.state.builds.values()].filter(
    (build) =>
      build.templateId === template.id &&
      (build.state.status === 'waiting' || build.state.status === 'building') &&
      build.tags.some((tag) => tags.includes(tag)),
  )
}

function assertBuildSlot(platform: Platform, competing: readonly BuildRecord[]): void {
  // The platform looks back a day; here nothing stays unfinished for so long.
  const unfinished = [...platform.state.builds.values()].filter(
    ({ state }) => state.status === 'waiting' || state.status === 'building',
  )
  const counted = unfinished.filter((build) => !competing.includes(build))
  if (counted.length >= platform.limits.concurrentBuilds) {
    throw quotaExceeded(
      `you have reached the maximum number of concurrent template builds (${platform.limits.concurrentBuilds})`,
    )
  }
}

/** A new request fails builds under its tags that have not started; a running one goes on until the new one starts. */
function supersede(platform: Platform, build: BuildRecord): void {
  if (build.state.status !== 'waiting') return
  build.state = {
    status: 'error',
    reason: { message: 'The build was canceled because it was superseded by a newer one', step: undefined },
  }
  build.updatedAt = platform.clock.now()
}

/** A build that nobody starts holds its tag and its slot for forty minutes. */
function ageOut(platform: Platform, build: BuildRecord): void {
  platform.clock.schedule(() => {
    if (build.state.status !== 'waiting') return
    build.state = { status: 'error', reason: { message: 'build timed out while waiting to start', step: undefined } }
    build.updatedAt = platform.clock.now()
  }, WAITING_LIMIT_MS)
}
