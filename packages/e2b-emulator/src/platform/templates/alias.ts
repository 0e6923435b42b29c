import { notFound } from '../api-error.ts'
import { route } from '../route.ts'
import { DEFAULT_TAG } from '../template-ref.ts'
import { assertOwn, parseOwnRef } from './access.ts'
import { findReadyBuild, findTemplate } from './resolve.ts'

/**
 * What `Template.exists` asks. A bare name is found as soon as a build was requested, whatever became of it; a name with
 * a tag only when the tag resolves to a ready build. Ownership is checked before the tag: a foreign name is a 403, which the
 * SDK reads as "exists".
 */
export const findAlias = route('get', '/templates/aliases/{alias}', {
  handle(platform, { parameter, reply }) {
    const alias = parameter('alias')
    const ref = parseOwnRef(platform, alias)
    const template = findTemplate(platform, ref)
    if (template === undefined) throw notFound(`Template alias '${alias}' not found`)
    assertOwn(template, ref.name)
    const tagWanted = alias.includes(':')
    if (tagWanted && findReadyBuild(platform.state, template, ref.tag ?? DEFAULT_TAG) === undefined) {
      throw notFound(`Template alias '${alias}' not found`)
    }
    return reply(200, { templateID: template.id, public: template.public })
  },
})
