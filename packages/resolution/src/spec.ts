import type { TemplateBuilder } from 'e2b'
import type { ResolutionEvent } from './events.ts'
import type { TagAssignment } from './template-api.ts'

/** Machine size of a template build. Every sandbox made from the template has exactly this size. */
export interface TemplateResources {
  /** Virtual CPUs: 1 or an even number up to 32. Default 2. */
  cpuCount?: number
  /** Memory in MiB: an even number, at least 128. Default 1024. */
  memoryMB?: number
}

/** A build that goes on from an earlier one. */
export interface IncrementalBuild {
  /** Ref of the build it starts from. */
  readonly parent: string
  /** What is built, `fromTemplate` of the parent. */
  readonly template: TemplateBuilder
}

/** How a template may be built from an earlier build instead of from nothing. */
export interface IncrementalBuilds {
  /**
   * Asked when a build is about to begin, with the newest assignment of each of the template's tags. Undefined where it
   * must be built from nothing.
   */
  from(tags: readonly TagAssignment[]): IncrementalBuild | undefined
  /** Moved together with `buildTags` by builds from nothing alone, so that `from` can tell when the last one was. */
  readonly cleanTags: readonly string[]
}

/**
 * A template with a name of its own. Resolution asks whether `ref` is ready, reuses it when it is, and builds it once
 * when it is not; where that fails the session still starts, from `fallbackTemplate` or the default template.
 */
export interface NamedTemplateSpec {
  /** The template's ref, `name:tag`. A bare `name` means `name:default`. */
  ref: string
  /** What is built where `ref` is missing. */
  template: TemplateBuilder
  /**
   * Used when `ref` can neither be booted nor built. A named spec is looked up and built under its own name; its own
   * `fallbackTemplate` is ignored, what comes after it is the default template.
   */
  fallbackTemplate?: string | TemplateBuilder | NamedTemplateSpec
  /** Ref of an earlier good build. Booted at once where `ref` is missing, while `ref` is built in the background. */
  staleRef?: string
  /**
   * Where neither `ref` nor `staleRef` is ready, this ref is looked up and built instead of `ref`: for a `ref` that only
   * ever points to builds made under other names. Default: `ref` itself.
   */
  buildRef?: string
  /** Tags moved to a build of `ref` after it succeeded, never before; what keeps them right later is `isCurrent`. */
  buildTags?: string[]
  /**
   * A shorter way to the same image. Where the build from the earlier one fails, `template` is built. Not taken where a
   * build is forced, nor where `ref` was found unusable.
   */
  incremental?: IncrementalBuilds
  /** Size of the build, also asked of every lower rung. */
  buildResources?: TemplateResources
  /**
   * Is the content of `ref` still what `buildTags` should point at? Asked after a build and before tags move. Without
   * it tags move after each successful build: a move that failed is not made up for, and an older build that ends later
   * moves them back. With it the next session makes up for it, and among those that share a lease (in one process, or
   * with the `lease` option in all) no tag moves back.
   */
  isCurrent?: (signal?: AbortSignal) => Promise<boolean>
  /** Access was refused: neither `ref` nor `staleRef` is booted or built, the ladder starts at the fallback. */
  refused?: { code: string; message: string }
  /** Secrets that the build log of this spec could echo. Removed from every event, error and log line. */
  redact?: readonly string[]
}

/** What a deferred spec is given when it is resolved. */
export interface ResolveContext {
  /** Aborted together with the resolution. */
  signal?: AbortSignal | undefined
  /** Receives warnings of the spec's own work, such as a head that could not be looked up. */
  onEvent?: ((event: ResolutionEvent) => void) | undefined
  /**
   * Told the name of the template (what stands before the tag) as soon as it is known, so that its tags are read while
   * the rest of the spec is determined. A name that turns out to be another costs a request and nothing else.
   */
  expectName?: ((name: string) => void) | undefined
  /**
   * Lists the tags of a template by its name; undefined where this account has none. The resolution lists the wanted
   * template's anyway and shares the answer. Rejects as E2B answered.
   */
  listTags?: ((name: string) => Promise<readonly TagAssignment[] | undefined>) | undefined
}

/**
 * A named spec that is computed when a session starts. `resolveSpec` runs once per resolution. It should answer with a
 * degraded spec rather than reject; a rejection falls to the default template with a warning.
 */
export interface DeferredNamedTemplateSpec {
  resolveSpec(context?: ResolveContext): Promise<NamedTemplateSpec>
}

/**
 * What to boot: the ref of an existing template, a builder, a function that extends the default mountable template,
 * a named spec, or a spec computed when the session starts. A builder or function is built under a name made of its content.
 */
export type TemplateSpec =
  | string
  | TemplateBuilder
  | ((base: TemplateBuilder) => TemplateBuilder)
  | NamedTemplateSpec
  | DeferredNamedTemplateSpec

/** What can be built without being determined first. */
export type BuildableSpec = Exclude<TemplateSpec, string | DeferredNamedTemplateSpec>

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/** True for a spec with a ref and a builder. A deferred spec is none until it is resolved. */
export function isNamedTemplateSpec(spec: TemplateSpec | undefined): spec is NamedTemplateSpec {
  return (
    isObject(spec) && 'ref' in spec && typeof spec.ref === 'string' && 'template' in spec && isObject(spec.template)
  )
}

/** True for a spec that is computed at resolution. */
export function isDeferredNamedTemplateSpec(spec: TemplateSpec | undefined): spec is DeferredNamedTemplateSpec {
  return isObject(spec) && 'resolveSpec' in spec && typeof spec.resolveSpec === 'function'
}
