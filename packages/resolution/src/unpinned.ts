import type { TemplateBuilder } from 'e2b'
import { splitRef } from './refs.ts'
import { buildBodyOf } from './template-content.ts'

/** Something a template's content depends on that may be another thing tomorrow under the same name. */
export interface Unpinned {
  /** `head`: the ref stands for whatever commit was cloned. `image`: a tag of a registry. `template`: a tag of E2B. */
  readonly kind: 'head' | 'image' | 'template'
  /** What it is called. */
  readonly name: string
}

const BUILD_ID = /:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** What of a build is not pinned to content; the RUN steps themselves are not read. */
export async function unpinnedOf(target: {
  readonly ref: string
  readonly template: TemplateBuilder
}): Promise<Unpinned[]> {
  const { fromImage, fromTemplate } = await buildBodyOf(target.template)
  return [
    ...(splitRef(target.ref).tag === 'unpinned' ? [{ kind: 'head' as const, name: target.ref }] : []),
    // E2B keeps the layer of an image by its text: a tag is looked up once and then stays what it was.
    ...(fromImage === undefined || fromImage.includes('@sha256:') ? [] : [{ kind: 'image' as const, name: fromImage }]),
    ...(fromTemplate === undefined || BUILD_ID.test(fromTemplate)
      ? []
      : [{ kind: 'template' as const, name: fromTemplate }]),
  ]
}
