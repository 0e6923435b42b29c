import { badRequest } from './api-error.ts'

/** A parsed reference `[namespace/]name[:tag]`, lower-cased. */
export interface TemplateRef {
  readonly namespace: string | undefined
  readonly name: string
  readonly tag: string | undefined
}

export const DEFAULT_TAG = 'default'

const NAME = /^[a-z0-9-_]+$/
const TAG = /^[a-z0-9-_.]+$/

/** What Go's UUID parser accepts: dashed, bare 32 digits, `urn:uuid:` and braces. */
const UUID_SHAPES = [
  /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,
  /^[0-9a-f]{32}$/,
  /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,
  /^\{[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\}$/,
]

export const isUuid = (text: string): boolean => UUID_SHAPES.some((shape) => shape.test(text.toLowerCase()))

/** Whether it is a name or a namespace as it is stored. */
export const isTemplateName = (text: string): boolean => NAME.test(text)

/** Parses a reference, or refuses it with a 400. */
export function parseTemplateRef(text: string): TemplateRef {
  const colon = text.indexOf(':')
  const left = colon === -1 ? text : text.slice(0, colon)
  const tag = colon === -1 ? undefined : cleanTag(text.slice(colon + 1))
  const slash = left.indexOf('/')
  return {
    namespace: slash === -1 ? undefined : cleanName(left.slice(0, slash), 'namespace'),
    name: cleanName(slash === -1 ? left : left.slice(slash + 1), 'template name'),
    tag,
  }
}

/** A tag as it is stored when assigned; build ids look like UUIDs, so nothing else may. */
export function assignableTag(text: string): string {
  const tag = cleanTag(text)
  if (isUuid(tag)) throw badRequest(`Invalid tag: '${tag}' cannot be a UUID`)
  return tag
}

function cleanName(text: string, what: string): string {
  const cleaned = text.trim().toLowerCase()
  if (!NAME.test(cleaned)) {
    throw badRequest(`Invalid ${what}: '${text}' must contain only lowercase letters, numbers, dashes and underscores`)
  }
  return cleaned
}

function cleanTag(text: string): string {
  const cleaned = text.trim().toLowerCase()
  if (!TAG.test(cleaned)) {
    throw badRequest(
      `Invalid tag: '${text}' must contain only lowercase letters, numbers, dashes, underscores and dots`,
    )
  }
  return cleaned
}
