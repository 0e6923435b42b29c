import { assertTag, contentTemplateName, isWarmboxError, resolveResources } from '@warmbox/identity'
import type { TemplateBuilder } from 'e2b'
import { ResolutionError } from './errors.ts'
import type { ResolutionEvent } from './events.ts'
import { untilAborted } from './flight.ts'
import type { Candidate, FirstLook, Role } from './ladder.ts'
import { createDefaultMountableTemplate } from './mountable-template.ts'
import { createRedactor, type Redactor } from './redact.ts'
import { assertBootRef, checked, withTag } from './refs.ts'
import { assertBuilder, assertNamedForm, isBuilder, type SpecOrigin } from './spec-checks.ts'
import {
  type BuildableSpec,
  isDeferredNamedTemplateSpec,
  isNamedTemplateSpec,
  type NamedTemplateSpec,
  type ResolveContext,
  type TemplateResources,
  type TemplateSpec,
} from './spec.ts'
import type { BuildTarget } from './target.ts'
import { readContent } from './template-content.ts'

/** A spec, checked and in the terms of the ladder. */
export interface PreparedLadder {
  readonly candidates: readonly Candidate[]
  readonly targets: ReadonlyMap<Role, BuildTarget>
  readonly redactor: Redactor
  /** Where the spec's own content may not be used. */
  readonly refused: { readonly ref: string; readonly code: string; readonly message: string } | undefined
  /** Where a deferred spec could not be determined, so that only the default template is left. */
  readonly unresolved: { readonly ref: string; readonly code: string; readonly message: string } | undefined
}

export interface PrepareOptions {
  readonly resources: TemplateResources | undefined
  readonly strictTemplate: boolean
  readonly signal: AbortSignal
  /** What the first candidate's first boot relies on. */
  readonly firstLook: FirstLook
  /** Receives what a deferred spec tells. */
  readonly onEvent: (event: ResolutionEvent) => void
  /** Told a deferred spec's name ahead of the spec. */
  readonly expectName: (name: string) => void
  readonly listTags: NonNullable<ResolveContext['listTags']>
}

/** A candidate before it is known to be the first. */
type Placed = Extract<Candidate, { kind: 'existing' }> | Omit<Extract<Candidate, { kind: 'buildable' }>, 'firstLook'>

interface Prepared {
  readonly candidate: Placed
  readonly target?: BuildTarget
}

interface PreparedBuild extends Prepared {
  readonly target: BuildTarget
}

const noRedaction = createRedactor([])

/**
 * Checks a spec and gives every template in it its name. A deferred spec is resolved here; where that fails, or what it
 * gives is malformed, the session gets the default template, and an attempt and a warning say why.
 * @throws ResolutionError `INVALID_SPEC` for anything malformed a caller wrote, before any request.
 */
export async function prepareLadder(spec: TemplateSpec | undefined, options: PrepareOptions): Promise<PreparedLadder> {
  // A size nobody can build is refused even where the spec brings its own.
  const resources = resourcesOf(options.resources)
  if (spec === undefined) return ladderOf([], resources, options)
  if (!isDeferredNamedTemplateSpec(spec)) return prepareSpec(spec, resources, options)
  const { expectName, listTags, onEvent, signal } = options
  let expected = ''
  try {
    const resolving = spec.resolveSpec({
      signal,
      onEvent,
      listTags,
      expectName: (name) => {
        expected = name
        expectName(name)
      },
    })
    // Nobody waits for a spec that does not mind the signal.
    return await prepareNamedSpec(assertNamedSpec(await untilAborted(resolving, signal)), 'deferred', options)
  } catch (error) {
    signal.throwIfAborted()
    return { ...ladderOf([], resources, options), unresolved: unresolved(expected, error) }
  }
}

/** Only our own errors are known to be free of secrets; of any other not more than its name is told. */
function unresolved(ref: string, error: unknown): NonNullable<PreparedLadder['unresolved']> {
  const why = isWarmboxError(error) ? error.message : error instanceof Error ? error.name : typeof error
  const code = isWarmboxError(error) ? error.code : 'SPEC_UNRESOLVED'
  return { ref, code, message: `The template could not be determined, the default is used instead: ${why}` }
}

const assertNamedSpec = (spec: NamedTemplateSpec): NamedTemplateSpec => {
  if (isNamedTemplateSpec(spec)) return spec
  throw new ResolutionError({
    code: 'INVALID_SPEC',
    message: 'resolveSpec gave no named spec',
    hint: 'Let it answer an object with ref and template',
  })
}

async function prepareSpec(
  spec: Exclude<TemplateSpec, { resolveSpec: unknown }>,
  resources: Required<TemplateResources>,
  options: PrepareOptions,
): Promise<PreparedLadder> {
  if (typeof spec === 'string') return ladderOf([existing('wanted', spec, options.strictTemplate)], resources, options)
  if (isNamedTemplateSpec(spec)) return prepareNamedSpec(spec, 'given', options)
  const template = typeof spec === 'function' ? extended(spec, resources) : spec
  return ladderOf([await unnamed('wanted', template, resources)], resources, options)
}

function extended(
  extend: (base: TemplateBuilder) => TemplateBuilder,
  resources: Required<TemplateResources>,
): TemplateBuilder {
  const base = createDefaultMountableTemplate(resources).template
  try {
    return extend(base)
  } catch (cause) {
    throw new ResolutionError({
      code: 'INVALID_SPEC',
      message: 'The template function threw',
      hint: 'Correct the function; its error is the cause',
      cause,
    })
  }
}

async function prepareNamedSpec(
  spec: NamedTemplateSpec,
  origin: SpecOrigin,
  options: PrepareOptions,
): Promise<PreparedLadder> {
  const fallback = spec.fallbackTemplate
  assertNamedForm(spec, '', origin)
  if (isNamed(fallback)) assertNamedForm(fallback, 'fallbackTemplate.', origin)
  const resources = resourcesOf({ ...options.resources, ...spec.buildResources })
  const redactor = createRedactor([...(spec.redact ?? []), ...(isNamed(fallback) ? (fallback.redact ?? []) : [])])
  const wanted = named('wanted', spec, resources, redactor)
  const prepared: Prepared[] = spec.refused === undefined ? [wanted] : []
  if (fallback !== undefined) prepared.push(await prepareFallback(fallback, resources, redactor))
  const refused = spec.refused === undefined ? undefined : { ref: wanted.candidate.ref, ...spec.refused }
  return { ...ladderOf(prepared, resources, options), redactor, refused }
}

const isNamed = (fallback: NamedTemplateSpec['fallbackTemplate']): fallback is NamedTemplateSpec =>
  isNamedTemplateSpec(fallback)

/** A spec alone, for callers that climb no ladder: what to ask for and what to build. */
export async function prepareAlone(
  spec: BuildableSpec,
  options: Pick<PrepareOptions, 'resources'>,
): Promise<{ readonly ref: string; readonly target: BuildTarget }> {
  if (!isNamedTemplateSpec(spec)) {
    const resources = resourcesOf(options.resources)
    const template = typeof spec === 'function' ? extended(spec, resources) : spec
    if (!isBuilder(template)) {
      throw new ResolutionError({
        code: 'INVALID_SPEC',
        message: 'The spec is nothing that is built',
        hint: 'Give an object with ref and template, or a builder; a deferred spec is resolved before',
      })
    }
    const { candidate, target } = await unnamed('wanted', template, resources)
    return { ref: candidate.ref, target }
  }
  assertNamedForm(spec, '', 'given')
  const resources = resourcesOf({ ...options.resources, ...spec.buildResources })
  const { candidate, target } = named('wanted', spec, resources, createRedactor(spec.redact ?? []))
  return { ref: candidate.ref, target }
}

/** One rung: the fallback of a fallback is not looked at, and neither is its earlier build. */
async function prepareFallback(
  fallback: NonNullable<NamedTemplateSpec['fallbackTemplate']>,
  resources: Required<TemplateResources>,
  redactor: Redactor,
): Promise<Prepared> {
  if (typeof fallback === 'string') return existing('fallback', fallback, false)
  if (!isNamedTemplateSpec(fallback)) return unnamed('fallback', fallback, resources)
  const { staleRef: _ignored, ...spec } = fallback
  return named('fallback', spec, resourcesOf({ ...resources, ...spec.buildResources }), redactor)
}

function ladderOf(
  prepared: readonly Prepared[],
  resources: Required<TemplateResources>,
  { firstLook }: Pick<PrepareOptions, 'firstLook'>,
): PreparedLadder {
  const mountable = createDefaultMountableTemplate(resources)
  const ref = withTag(mountable.id)
  const all = [...prepared, buildable('default', plainTarget(ref, mountable.template, resources))]
  return {
    // Only the first is looked at ahead of time; for those after it one question is as good as the other.
    candidates: all.map(({ candidate }, place) =>
      candidate.kind === 'existing' ? candidate : { ...candidate, firstLook: place === 0 ? firstLook : 'status' },
    ),
    targets: new Map(all.flatMap(({ candidate, target }) => (target === undefined ? [] : [[candidate.role, target]]))),
    redactor: noRedaction,
    refused: undefined,
    unresolved: undefined,
  }
}

function existing(role: 'wanted' | 'fallback', ref: string, strict: boolean): Prepared {
  const text = ref.trim()
  assertBootRef(role === 'wanted' ? 'template' : 'fallbackTemplate', text)
  return { candidate: { kind: 'existing', role, ref: text, strict } }
}

async function unnamed(
  role: Role,
  template: TemplateBuilder,
  resources: Required<TemplateResources>,
): Promise<PreparedBuild> {
  assertBuilder(role === 'wanted' ? 'template' : 'fallbackTemplate', template)
  const content = await readContent(role === 'wanted' ? 'The template builder' : 'The fallbackTemplate', template)
  const ref = withTag(contentTemplateName({ template: content, ...resources }))
  return buildable(role, plainTarget(ref, template, resources))
}

function named(
  role: Role,
  spec: NamedTemplateSpec,
  resources: Required<TemplateResources>,
  redactor: Redactor,
): PreparedBuild {
  const { buildRef: givenBuildRef, incremental, isCurrent, staleRef, template } = spec
  const where = role === 'wanted' ? '' : 'fallbackTemplate.'
  const ref = checked(`${where}ref`, () => withTag(spec.ref))
  const stale = staleRef === undefined ? undefined : checked(`${where}staleRef`, () => withTag(staleRef))
  const buildRef = checked(`${where}buildRef`, () => withTag(givenBuildRef ?? ref))
  const buildTags = (spec.buildTags ?? []).map((tag) => checked(`${where}buildTags`, () => assertTag(tag)))
  for (const tag of incremental?.cleanTags ?? []) checked(`${where}incremental.cleanTags`, () => assertTag(tag))
  const target = { ref: buildRef, template, resources, buildTags, incremental, isCurrent, redactor }
  return buildable(role, target, { ref, staleRef: stale })
}

const buildable = (
  role: Role,
  target: BuildTarget,
  { ref = target.ref, staleRef }: { readonly ref?: string; readonly staleRef?: string | undefined } = {},
): PreparedBuild => ({
  candidate: { kind: 'buildable', role, ref, staleRef, buildRef: target.ref },
  target: Object.freeze(target),
})

const plainTarget = (ref: string, template: TemplateBuilder, resources: Required<TemplateResources>): BuildTarget => ({
  ref,
  template,
  resources,
  buildTags: [],
  incremental: undefined,
  isCurrent: undefined,
  redactor: noRedaction,
})

const resourcesOf = (resources: TemplateResources = {}): Required<TemplateResources> =>
  checked('resources', () => resolveResources(resources))
