import { advance, heal, tagsLeftBehind } from './advance.ts'
import { AttemptLog, createEmitter } from './emitter.ts'
import { isResolutionError, ResolutionError } from './errors.ts'
import type { ResolutionListener } from './events.ts'
import { untilAborted } from './flight.ts'
import { lookAgain } from './look-again.ts'
import { obtain } from './obtain.ts'
import { assertBoolean } from './option-checks.ts'
import { type ResolvedOptions, resolveOptions, type ResolveTemplateOptions } from './options.ts'
import { prepareAlone } from './prepare.ts'
import type { Redactor } from './redact.ts'
import { splitRef } from './refs.ts'
import { type BuildableSpec, isNamedTemplateSpec, type NamedTemplateSpec } from './spec.ts'

export interface EnsureTemplateOptions extends Pick<
  ResolveTemplateOptions,
  'api' | 'signal' | 'onEvent' | 'buildTimeoutMs' | 'resources' | 'lease' | 'clock' | 'random'
> {
  /** Build although a build is ready. A build of this ref that runs already is joined all the same. Default false. */
  force?: boolean | undefined
}

export interface EnsureTemplateResult {
  readonly ref: string
  /** `built` also where somebody else's build was awaited. */
  readonly action: 'reused' | 'built'
  /** How it was built, where it was built here: `clean` from nothing, `incremental` from an earlier build. */
  readonly build?: 'clean' | 'incremental'
  /** The earlier build an incremental one went on from. */
  readonly parent?: string
}

/**
 * Makes sure that a template is built and its tags are moved, and waits for it; one without a name, a builder or a
 * function that returns one, under the name a session would give it. Nothing of the ladder below a build is used: neither
 * an earlier build, nor the fallback, nor the default. Earlier failures of the ref are no obstacle, an explicit call is
 * the way past them.
 *
 * @throws ResolutionError for whatever kept the template from being ready or its tags from being moved.
 */
export async function ensureTemplate(
  spec: BuildableSpec,
  options: EnsureTemplateOptions,
): Promise<EnsureTemplateResult> {
  const resolved = resolveOptions(options)
  assertBoolean('force', options.force)
  const { clock, signal } = resolved
  signal.throwIfAborted()
  const prepared = await prepareAlone(spec, resolved)
  const { redactor } = prepared.target
  const emit = createEmitter(options.onEvent, redactor)
  const startedAt = clock.now()
  const durationMs = (): number => Math.max(0, clock.now() - startedAt)
  try {
    if (isNamedTemplateSpec(spec) && spec.refused !== undefined)
      throw refusal(prepared.ref, spec.refused, { clock, emit, redactor })
    const result = await ensure(prepared, { ...resolved, emit }, options.force ?? false)
    const rung = result.action === 'built' ? 'built' : 'exact'
    emit({ type: 'resolution-end', outcome: 'resolved', rung, ref: result.ref, durationMs: durationMs() })
    return result
  } catch (error) {
    const outcome = signal.aborted ? 'aborted' : 'failed'
    const told = isResolutionError(error) ? { reason: error.message, code: error.code } : {}
    emit({ type: 'resolution-end', outcome, ref: prepared.ref, ...told, durationMs: durationMs() })
    throw error
  }
}

async function ensure(
  { ref, target }: Awaited<ReturnType<typeof prepareAlone>>,
  context: ResolvedOptions & { readonly emit: ResolutionListener },
  force: boolean,
): Promise<EnsureTemplateResult> {
  const { api, signal } = context
  for (const candidate of new Set([ref, target.ref])) {
    const status = await lookAgain(() => api.status(candidate, signal), context)
    if (status === 'foreign') throw foreign(candidate)
    if (status === 'ready' && !force && (await isTagged(candidate, context))) {
      throwIfAny(await heal({ ...target, ref: candidate }, context, tagsLeftBehind))
      return { ref: candidate, action: 'reused' }
    }
  }
  const { advancing, how, parent } = await obtain(target, context, {
    force,
    background: false,
    despiteFailure: true,
  })
  // A second try: the one made together with the build may have met a passing trouble.
  if ((await untilAborted(advancing, signal)) !== undefined) throwIfAny(await advance(target, context))
  const made = { ref: target.ref, action: 'built' } as const
  if (how === 'joined') return made
  return parent === undefined ? { ...made, build: 'clean' } : { ...made, build: 'incremental', parent }
}

/**
 * An old self-hosted cluster answers for the name alone, whatever the tag, so that a ref nobody ever built counts as
 * ready there. Where tags cannot be listed there is only that answer to go by.
 */
async function isTagged(ref: string, context: ResolvedOptions): Promise<boolean> {
  const { name, tag } = splitRef(ref)
  const assigned = await lookAgain(() => context.api.tags(name, context.signal), context)
  return assigned === undefined || assigned.some((assignment) => assignment.tag === tag)
}

/** The refusal is told as a session tells it; the spec's own code is that of the attempt. */
function refusal(
  ref: string,
  refused: NonNullable<NamedTemplateSpec['refused']>,
  { clock, emit, redactor }: Pick<ResolvedOptions, 'clock'> & { emit: ResolutionListener; redactor: Redactor },
): ResolutionError {
  const { code } = refused
  const message = redactor.text(refused.message)
  const log = new AttemptLog(emit, redactor, () => clock.now())
  log.add({ rung: 'exact', ref, outcome: 'refused', code, reason: message })
  emit({ type: 'warning', code, message, ref })
  return new ResolutionError({
    code: 'ACCESS_REFUSED',
    message: `Access to the content of '${ref}' was refused (${code}): ${message}`,
    hint: "Give credentials that may read it; the code in parentheses, also that of the attempt, is the spec's own",
    attempts: log.all,
  })
}

const foreign = (ref: string): ResolutionError =>
  new ResolutionError({
    code: 'TEMPLATE_FOREIGN',
    message: `The name of '${ref}' belongs to another account`,
    hint: 'Choose another name',
  })

function throwIfAny(error: unknown): void {
  if (error !== undefined) throw error
}
