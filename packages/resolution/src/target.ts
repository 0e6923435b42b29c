import type { TemplateBuilder } from 'e2b'
import type { Redactor } from './redact.ts'
import type { IncrementalBuilds, TemplateResources } from './spec.ts'

/** A template that can be built, with every default filled in. */
export interface BuildTarget {
  /** `name:tag` in normal form. */
  readonly ref: string
  readonly template: TemplateBuilder
  readonly resources: Readonly<Required<TemplateResources>>
  readonly buildTags: readonly string[]
  readonly incremental: IncrementalBuilds | undefined
  readonly isCurrent: ((signal?: AbortSignal) => Promise<boolean>) | undefined
  /** Knows the secrets of this template's build. */
  readonly redactor: Redactor
}
