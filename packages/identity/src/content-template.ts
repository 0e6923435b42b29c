import { writeText } from './canonical-text.ts'
import { nameHash } from './digest.ts'
import { nothingElse, record, text } from './input.ts'
import { TEMPLATE_LENGTH } from './limits.ts'
import { sizeOf } from './resources.ts'

/** A template known only by its build steps. */
export interface ContentTemplateIdentity {
  /** The template's serialised steps, as E2B's `toJSON` writes them. Compared as text. */
  template: string
  /** vCPUs. Default 2. */
  cpuCount?: number | undefined
  /** Memory in MiB. Default 1024. */
  memoryMB?: number | undefined
}

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
  record(input, 'identity')
  const { template, cpuCount, memoryMB, ...rest } = input
  nothingElse(rest, 'identity')
  const size = sizeOf(cpuCount, memoryMB)
  return writeText('content', [
    ['cpuCount', `${size.cpuCount}`],
    ['memoryMB', `${size.memoryMB}`],
    ['template', text(template, 'template', TEMPLATE_LENGTH)],
  ])
}
