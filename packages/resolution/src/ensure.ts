import { advance, heal, tagsElsewhere } from './advance.ts'
import { createEmitter } from './emitter.ts'
import { ResolutionError } from './errors.ts'
import { obtain } from './obtain.ts'
import { resolveOptions, type ResolveTemplateOptions } from './options.ts'
import { prepareNamed } from './prepare.ts'
import type { NamedTemplateSpec } from './spec.ts'

export interface EnsureTemplateOptions extends Pick<
  ResolveTemplateOptions,
  'api' | 'signal' | 'onEvent' | 'buildTimeoutMs' | 'resources' | 'clock' | 'random'
> {
  /** Build although a build is ready. A build of this ref that runs already is joined all the same. Default false. */
  force?: boolean | undefined
}

export interface EnsureTemplateResult {
  readonly ref: string
  /** `built` also where somebody else's build was awaited. */
  readonly action: 'reused' | 'built'
}

/**
 * Makes sure that a named template is built and its tags are moved, and waits for it. Nothing of the ladder below a
 * build is used: neither an earlier build, nor the fallback, nor the default. Earlier failures of the ref are no
 * obstacle, an explicit call is the way past them.
 *
 * @throws ResolutionError for whatever kept the template from being ready or its tags from being moved.
 */
export async function ensureTemplate(
  spec: NamedTemplateSpec,
  options: EnsureTemplateOptions,
): Promise<EnsureTemplateResult> {
  const resolved = resolveOptions(options)
  const { api, signal } = resolved
  signal.throwIfAborted()
  const { ref, target } = prepareNamed(spec, resolved)
  if (spec.refused !== undefined) {
    throw new ResolutionError({ code: 'ACCESS_REFUSED', message: target.redactor.text(spec.refused.message) })
  }
  const context = { ...resolved, emit: createEmitter(options.onEvent, target.redactor) }
  const force = options.force ?? false
  for (const candidate of new Set([ref, target.ref])) {
    const status = await api.status(candidate, signal)
    if (status === 'foreign') throw foreign(candidate)
    if (status === 'ready' && !force) {
      throwIfAny(await heal({ ...target, ref: candidate }, context, tagsElsewhere))
      return { ref: candidate, action: 'reused' }
    }
  }
  const { advanceError } = await obtain(target, context, { force, background: false, despiteFailure: true })
  // A second try: the one made together with the build may have met a passing trouble.
  if (advanceError !== undefined) throwIfAny(await advance(target, context))
  return { ref: target.ref, action: 'built' }
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
