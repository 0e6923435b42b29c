import { bootOnce } from './boot-once.ts'
import { type BootResult, climb } from './climb.ts'
import { createEmitter } from './emitter.ts'
import { TemplateUnusableError } from './errors.ts'
import { bootGoal, resolveGoal } from './goal.ts'
import { assertPorts, type BootOptions, resolveOptions, type ResolveTemplateOptions } from './options.ts'
import { prepare, PreparedResolution } from './prepare-resolution.ts'
import { createRedactor } from './redact.ts'
import { assertBootRef } from './refs.ts'
import type { TemplateSpec } from './spec.ts'

/**
 * Boots a spec from the best rung there is: the wanted template, an earlier build of it while the wanted one is built,
 * somebody's running build, a build made here, the fallback, the default template, the default template built again.
 *
 * Given what {@link prepareResolution} answered, it goes on from there; `resources` and `strictTemplate` were decided
 * then and are not looked at again.
 *
 * @throws ResolutionError `INVALID_SPEC` and `MISSING_API_KEY` before any request; `AUTHENTICATION` and `FORBIDDEN`
 * as answered; `LADDER_EXHAUSTED` with all attempts. What `boot` throws propagates unchanged unless it means that the
 * ref cannot be booted; {@link attemptsOf} tells its attempts. An aborted signal rejects with its reason.
 */
export async function bootFromSpec<T>(
  spec: TemplateSpec | PreparedResolution | undefined,
  options: BootOptions<T>,
): Promise<BootResult<T>> {
  const resolved = resolveOptions(options)
  assertPorts(options)
  const preparation = async () =>
    spec instanceof PreparedResolution ? PreparedResolution.read(spec) : prepare(spec, resolved, 'tags')
  return climb(preparation, resolved, bootGoal(options))
}

/**
 * The ref {@link bootFromSpec} would boot, built where nothing was ready, without booting it: only a ref whose status
 * is ready is answered. A string template is asked for too; one that belongs to another account counts, because public
 * templates do.
 * @throws ResolutionError as {@link bootFromSpec} does.
 */
export async function resolveTemplate(
  spec: TemplateSpec | undefined,
  options: ResolveTemplateOptions,
): Promise<Omit<BootResult<never>, 'value'>> {
  const resolved = resolveOptions(options)
  const preparation = () => prepare(spec, resolved, 'status')
  const { ref, rung, attempts } = await climb(preparation, resolved, resolveGoal(resolved))
  return { ref, rung, attempts }
}

/**
 * Boots one ref without a ladder, with the same care: one create, the search for what came of an ambiguous one, and
 * suspicion of refs from which nothing ever comes.
 * @throws ResolutionError `INVALID_SPEC` for a malformed ref, before anything else; TemplateUnusableError where the ref
 * cannot be booted; what `boot` threw otherwise
 */
export async function bootRef<T>(
  ref: string,
  options: Pick<BootOptions<T>, 'api' | 'boot' | 'adopt' | 'discard' | 'abandon' | 'signal' | 'onEvent' | 'clock'>,
): Promise<T> {
  const { api, clock, onEvent, signal } = resolveOptions(options)
  assertPorts(options)
  assertBootRef('ref', ref)
  signal.throwIfAborted()
  const emit = createEmitter(onEvent, createRedactor([]))
  const answer = await bootOnce(ref, 'exact', options, { scope: api.scope, clock, signal, emit })
  if (answer.kind === 'booted') return answer.value
  throw new TemplateUnusableError(ref, { cause: answer.error })
}
