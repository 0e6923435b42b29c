import { badRequest, notFound } from '../api-error.ts'
import { arrayOf, object, string } from '../check.ts'
import type { Schemas } from '../contract.ts'
import { isoTime } from '../platform.ts'
import { route } from '../route.ts'
import { assignableTag, DEFAULT_TAG, parseTemplateRef } from '../template-ref.ts'
import { ownTemplate, parseOwnRef } from './access.ts'
import { findReadyBuild, newestAssignments } from './resolve.ts'
import { forgetTags } from './tag-cache.ts'

/** Points tags to the ready build that the target resolves to now. No compare-and-set: the last writer wins. */
export const assignTags = route('post', '/templates/tags', {
  body: object<Schemas['AssignTemplateTagsRequest']>({ tags: arrayOf(string), target: string }),
  handle(platform, { body, reply }) {
    if (body.tags.length === 0) throw badRequest('At least one tag is required')
    const tags = [...new Set(body.tags.map(assignableTag))]
    const ref = parseOwnRef(platform, body.target)
    const template = ownTemplate(platform, ref)
    const tag = ref.tag ?? DEFAULT_TAG
    const ready = findReadyBuild(platform.state, template, tag)
    if (ready === undefined) throw notFound(`Template '${ref.name}' with tag '${tag}' not found`)
    const createdAt = platform.clock.now()
    template.assignments = [
      ...template.assignments,
      ...tags.map((assigned) => ({ tag: assigned, buildId: ready.build.id, createdAt })),
    ]
    forgetTags(platform.state, template.id, tags)
    return reply(201, { buildID: ready.build.id, tags })
  },
})

/** Forgets tags and their whole history; builds left without any tag become unreachable. */
export const deleteTags = route('delete', '/templates/tags', {
  body: object<Schemas['DeleteTemplateTagsRequest']>({ name: string, tags: arrayOf(string) }),
  handle(platform, { body, reply }) {
    if (body.tags.length === 0) throw badRequest('At least one tag is required')
    const tags = body.tags.map(assignableTag)
    if (tags.includes(DEFAULT_TAG)) throw badRequest(`Cannot delete the '${DEFAULT_TAG}' tag`)
    const ref = parseOwnRef(platform, body.name)
    // `name:default` slips through on the platform, where it parses as "no tag".
    if (ref.tag !== undefined && ref.tag !== DEFAULT_TAG) throw badRequest('Template name must not contain a tag')
    const template = ownTemplate(platform, ref)
    template.assignments = template.assignments.filter(({ tag }) => !tags.includes(tag))
    forgetTags(platform.state, template.id, tags)
    return reply(204)
  },
})

/** The newest assignment of each tag, whatever became of its build. A tag in the path is ignored. */
export const listTags = route('get', '/templates/{templateID}/tags', {
  handle(platform, { parameter, reply }) {
    const ref = parseTemplateRef(parameter('templateID'))
    const template = ownTemplate(platform, ref)
    const tags = newestAssignments(template)
      .toSorted((left, right) => (left.tag < right.tag ? -1 : 1))
      .map(({ tag, buildId, createdAt }) => ({ tag, buildID: buildId, createdAt: isoTime(createdAt) }))
    return reply(200, tags)
  },
})
