import { badRequest, forbidden, notFound } from '../api-error.ts'
import type { Platform } from '../platform.ts'
import type { TemplateRecord } from '../state.ts'
import { parseTemplateRef, type TemplateRef } from '../template-ref.ts'
import { findTemplate } from './resolve.ts'

/** A reference in a call about the team's own templates: an explicit namespace must be the team's. */
export function parseOwnRef(platform: Platform, text: string): TemplateRef {
  const ref = parseTemplateRef(text)
  if (ref.namespace !== undefined && ref.namespace !== platform.team.slug) {
    throw badRequest(`Namespace '${ref.namespace}' must match your team '${platform.team.slug}'`)
  }
  return ref
}

/** The template named, which must exist and be the team's own. */
export function ownTemplate(platform: Platform, ref: TemplateRef): TemplateRecord {
  const template = findTemplate(platform, ref)
  if (template === undefined) throw notFound(`Template '${ref.name}' not found`)
  return assertOwn(template, ref.name)
}

/** The template with this id; names do not count. */
export function ownTemplateById(platform: Platform, id: string): TemplateRecord {
  const template = platform.state.templates.get(id)
  if (template === undefined) throw notFound(`Template '${id}' not found`)
  return assertOwn(template, id)
}

export function assertOwn(template: TemplateRecord, shown: string): TemplateRecord {
  if (template.owner !== 'team') throw forbidden(`You don't have access to sandbox template '${shown}'`)
  return template
}
