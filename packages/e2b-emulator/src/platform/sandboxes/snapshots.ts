import type { ImageId } from '../../runtime/port.ts'
import type { Schemas } from '../contract.ts'
import { isoTime, type Platform } from '../platform.ts'
import { integerQuery, paginate } from '../query.ts'
import { route } from '../route.ts'
import type { BuildRecord, SandboxRecord, TemplateRecord } from '../state.ts'
import { DEFAULT_TAG, parseTemplateRef, type TemplateRef } from '../template-ref.ts'
import { parseOwnRef } from '../templates/access.ts'
import { assertEnvd } from '../templates/envd-version.ts'
import { registerTemplate } from '../templates/register.ts'
import { findTemplate, namesOf } from '../templates/resolve.ts'
import { forgetTags } from '../templates/tag-cache.ts'
import { snapshotRequested } from './bodies.ts'
import { findRunning } from './find.ts'
import { checkpoint } from './lifecycle.ts'

const MAX_PAGE = 100

/**
 * Makes a template of a running sandbox, which goes on. A name that is one of the team's templates already gets another
 * build there, whatever that template was made by: it can take over what the name boots.
 */
export const createSnapshot = route('post', '/sandboxes/{sandboxID}/snapshots', {
  body: snapshotRequested,
  gap: 'memory is not copied: the start command runs anew',
  async handle(platform, { parameter, body, reply }) {
    const ref = body.name === undefined ? undefined : parseOwnRef(platform, body.name)
    const { sandbox } = findRunning(platform, parameter('sandboxID'))
    assertEnvd(platform, 'snapshots', 'snapshots')
    const image = await checkpoint(platform, sandbox, 'snapshotted')
    const template =
      findOwn(platform, ref) ??
      registerTemplate(platform, { name: ref?.name, source: { kind: 'snapshot', sandboxId: sandbox.id } })
    const tag = ref?.tag ?? DEFAULT_TAG
    addBuild(platform, template, tag, sandbox, image)
    return reply(201, describe(template, tag, ref && `${platform.team.slug}/${ref.name}`))
  },
})

/** One entry per snapshot template, newest first, under the tag of its newest build. */
export const listSnapshots = route('get', '/snapshots', {
  handle(platform, { query, reply }) {
    const name = query('name')
    const ref = name === undefined || name === '' ? undefined : parseTemplateRef(name)
    const sandboxId = query('sandboxID') ?? ''
    const matching = [...platform.state.templates.values()].filter(
      (template) =>
        template.owner === 'team' &&
        template.source.kind === 'snapshot' &&
        (sandboxId === '' || template.source.sandboxId === sandboxId) &&
        (ref === undefined || isNamed(platform, template, ref)),
    )
    const page = paginate(matching, {
      keyOf: ({ createdAt, id }) => `${isoTime(createdAt)}__${id}`,
      order: 'desc',
      limit: integerQuery('limit', query('limit'), { minimum: 1, maximum: MAX_PAGE }) ?? MAX_PAGE,
      nextToken: query('nextToken'),
    })
    return reply(
      200,
      page.items.map((template) => describe(template, ref?.tag ?? newestTag(template), namesOf(template).names[0])),
      page.headers,
    )
  },
})

const findOwn = (platform: Platform, ref: TemplateRef | undefined) => {
  const found = ref === undefined ? undefined : findTemplate(platform, ref)
  return found?.owner === 'team' ? found : undefined
}

function addBuild(
  platform: Platform,
  template: TemplateRecord,
  tag: string,
  sandbox: SandboxRecord,
  image: ImageId,
): void {
  const now = platform.clock.now()
  const { cpuCount, memoryMB, boot } = sandbox
  const build: BuildRecord = {
    id: platform.identifiers.build(),
    templateId: template.id,
    tags: [tag],
    cpuCount,
    memoryMB,
    createdAt: now,
    updatedAt: now,
    state: { status: 'ready', artifact: async () => ({ ...boot, image }) },
    logs: [],
  }
  platform.state.builds.set(build.id, build)
  template.assignments = [...template.assignments, { tag, buildId: build.id, createdAt: now }]
  template.updatedAt = now
  forgetTags(platform.state, template.id, [tag])
}

/** By name or by id; a tag must be one the snapshot has. */
function isNamed(platform: Platform, template: TemplateRecord, ref: TemplateRef): boolean {
  const hasTag = ref.tag === undefined || template.assignments.some(({ tag }) => tag === ref.tag)
  return hasTag && findTemplate(platform, ref) === template
}

const newestTag = (template: TemplateRecord) => template.assignments.at(-1)?.tag ?? DEFAULT_TAG

const describe = (template: TemplateRecord, tag: string, name: string | undefined): Schemas['SnapshotInfo'] => ({
  snapshotID: `${name ?? template.id}:${tag}`,
  names: name === undefined ? [] : [name],
})
