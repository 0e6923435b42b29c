import { header, line } from './canonical-text.ts'
import { nameHash } from './digest.ts'
import { LIMITS } from './limits.ts'
import { resolveResources } from './resources.ts'
import { assertKnownFields, assertRecord, assertText } from './text.ts'

/** A template known only by its build steps. */
export interface ContentTemplateIdentity {
  /** The template's serialised steps, as E2B's `toJSON` writes them. Compared as text. */
  template: string
  /** vCPUs. */
  cpuCount: number
  /** Memory in MiB. */
  memoryMB: number
}

const knownFields: ReadonlySet<string> = new Set<keyof ContentTemplateIdentity>(['template', 'cpuCount', 'memoryMB'])

/**
 * A name for a template the caller did not name, `mastra-<hash>`: the same steps at the same size are built once.
 *
 * @throws IdentityError for any input that is refused; `field` says which.
 */
export function contentTemplateName(input: ContentTemplateIdentity): string {
  return `mastra-${nameHash(contentTemplateText(input))}`
}

/** The text {@link contentTemplateName} is a hash of. It holds the template's own text: treat it as a secret. */
export function contentTemplateText(input: ContentTemplateIdentity): string {
  assertRecord(input, 'identity')
  assertKnownFields(input, knownFields, 'identity')
  assertText(input.template, 'template', LIMITS.template)
  const { cpuCount, memoryMB } = resolveResources(input)
  return (
    header('content') +
    line('cpuCount', String(cpuCount)) +
    line('memoryMB', String(memoryMB)) +
    line('template', input.template)
  )
}
