import { badRequest } from '../api-error.ts'
import { boolean, object, optional } from '../check.ts'
import type { Schemas } from '../contract.ts'
import { dropImage } from '../images.ts'
import { isoTime, type Platform } from '../platform.ts'
import { integerQuery, paginate } from '../query.ts'
import { route } from '../route.ts'
import type { BuildRecord, TemplateRecord } from '../state.ts'
import { isVisible } from '../sandboxes/find.ts'
import { DEFAULT_TAG, parseTemplateRef } from '../template-ref.ts'
import { ownTemplate, ownTemplateById } from './access.ts'
import { findReadyBuild, namesOf } from './resolve.ts'
import { cancelRunning } from './start-build.ts'
import { DISK_SIZE_MB } from '../machine-facts.ts'

const PAGE = { minimum: 1, maximum: 100 }
const NIL_UUID = '00000000-0000-0000-0000-000000000000'

/** A template with its builds, newest first. Builds without any tag are not shown. */
export const getTemplate = route('get', '/templates/{templateID}', {
  handle(platform, { parameter, query, reply }) {
    const template = ownTemplateById(platform, parameter('templateID'))
    const reachable = new Set(template.assignments.map(({ buildId }) => buildId))
    const page = paginate(
      [...platform.state.builds.values()].filter((build) => reachable.has(build.id)),
      {
        keyOf: ({ createdAt, id }) => `${isoTime(createdAt)}__${id}`,
        order: 'desc',
        limit: integerQuery('limit', query('limit'), PAGE) ?? PAGE.maximum,
        nextToken: query('nextToken'),
      },
    )
    return reply(
      200,
      { ...describe(template), builds: page.items.map((build) => describeBuild(platform, build)) },
      page.headers,
    )
  },
})

/** The team's templates. Status and resources are those of the `default` tag alone. */
export const listTemplates = route('get', '/v2/templates', {
  handle(platform, { query, reply }) {
    const own = listedTemplates(platform)
    const page = paginate(own, {
      keyOf: ({ createdAt, id }) => `${isoTime(createdAt)}__${id}`,
      order: 'desc',
      limit: integerQuery('limit', query('limit'), PAGE) ?? PAGE.maximum,
      nextToken: query('nextToken'),
    })
    return reply(
      200,
      page.items.map((template) => describeListed(platform, template)),
      page.headers,
    )
  },
})

export const listTemplatesV1 = route('get', '/templates', {
  handle(platform, { reply }) {
    const own = listedTemplates(platform)
    return reply(
      200,
      own.map((template) => describeListed(platform, template)),
    )
  },
})

/** Those the team built; its snapshots have a list of their own. */
const listedTemplates = (platform: Platform) =>
  [...platform.state.templates.values()].filter(({ owner, source }) => owner === 'team' && source.kind === 'build')

/**
 * Deletes a template, or a snapshot, and every tag. Takes a reference, whose own tag is ignored. Refused while a sandbox,
 * paused ones included, is based on it.
 */
export const deleteTemplate = route('delete', '/templates/{templateID}', {
  async handle(platform, { parameter, reply }) {
    const template = ownTemplate(platform, parseTemplateRef(parameter('templateID')))
    const based = [...platform.state.sandboxes.values()].filter(({ templateId }) => templateId === template.id)
    if (based.some(isVisible)) {
      throw badRequest(`cannot delete template '${template.id}' because there are running or paused sandboxes using it`)
    }
    platform.state.templates.delete(template.id)
    platform.state.deletedTemplates.add(template.id)
    const builds = [...platform.state.builds.values()].filter(({ templateId }) => templateId === template.id)
    for (const build of builds) cancelRunning(build)
    await Promise.all(builds.map((build) => forget(platform, build)))
    return reply(204)
  },
})

const templateUpdate = object<Schemas['TemplateUpdateRequest']>({ public: optional(boolean) })

export const updateTemplate = route('patch', '/v2/templates/{templateID}', {
  body: templateUpdate,
  handle(platform, { parameter, body, reply }) {
    return reply(200, { names: namesOf(update(platform, parameter('templateID'), body)).names })
  },
})

/** The older call, which answers nothing. */
export const updateTemplateV1 = route('patch', '/templates/{templateID}', {
  body: templateUpdate,
  handle(platform, { parameter, body, reply }) {
    update(platform, parameter('templateID'), body)
    return reply(200)
  },
})

function update(platform: Platform, id: string, body: Schemas['TemplateUpdateRequest']): TemplateRecord {
  const template = ownTemplateById(platform, id)
  const updated = { ...template, public: body.public ?? template.public }
  platform.state.templates.set(template.id, updated)
  return updated
}

async function forget(platform: Platform, build: BuildRecord): Promise<void> {
  if (build.state.status === 'building') await build.state.settled
  platform.state.builds.delete(build.id)
  if (build.state.status !== 'ready') return
  // A build that is ready in name alone has no image to drop.
  const made = await build.state.artifact().catch(() => undefined)
  if (made !== undefined) await dropImage(platform, made.image)
}

const describe = (template: TemplateRecord) => ({
  templateID: template.id,
  ...namesOf(template),
  public: template.public,
  createdAt: isoTime(template.createdAt),
  updatedAt: isoTime(template.updatedAt),
  lastSpawnedAt: template.lastSpawnedAt === undefined ? null : isoTime(template.lastSpawnedAt),
  spawnCount: template.spawnCount,
})

const describeBuild = (platform: Platform, build: BuildRecord): Schemas['TemplateBuild'] => ({
  buildID: build.id,
  status: build.state.status,
  cpuCount: build.cpuCount,
  memoryMB: build.memoryMB,
  diskSizeMB: DISK_SIZE_MB,
  envdVersion: platform.envdVersion,
  createdAt: isoTime(build.createdAt),
  updatedAt: isoTime(build.updatedAt),
  // Written by the status update that starts a build, so it says nothing about completion.
  ...(build.state.status === 'waiting' ? {} : { finishedAt: isoTime(build.updatedAt) }),
})

function describeListed(platform: Platform, template: TemplateRecord): Schemas['Template'] {
  const build = findReadyBuild(platform.state, template, DEFAULT_TAG)?.build
  return {
    ...describe(template),
    buildCount: new Set(template.assignments.map(({ buildId }) => buildId)).size,
    buildID: build?.id ?? NIL_UUID,
    buildStatus: build === undefined ? 'waiting' : 'ready',
    cpuCount: build?.cpuCount ?? 0,
    memoryMB: build?.memoryMB ?? 0,
    diskSizeMB: build === undefined ? 0 : DISK_SIZE_MB,
    envdVersion: build === undefined ? '' : platform.envdVersion,
    createdBy: null,
  }
}
