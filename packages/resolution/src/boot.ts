import { type BootResult, climb } from './climb.ts'
import { TemplateUnusableError } from './errors.ts'
import { type BootOptions, resolveOptions, type ResolveTemplateOptions } from './options.ts'
import type { TemplateSpec } from './spec.ts'

/**
 * Boots a spec from the best rung there is: the wanted template, an earlier build of it while the wanted one is built,
 * somebody's running build, a build made here, the fallback, the default template, the default template built again.
 *
 * @throws ResolutionError `INVALID_SPEC` and `MISSING_API_KEY` before any request; `AUTHENTICATION` and `FORBIDDEN`
 * as answered; `LADDER_EXHAUSTED` with all attempts. What `boot` throws propagates unchanged unless it means that the
 * ref cannot be booted. An aborted signal rejects with its reason.
 */
export async function bootFromSpec<T>(spec: TemplateSpec | undefined, options: BootOptions<T>): Promise<BootResult<T>> {
  return climb(spec, resolveOptions(options), {
    outcome: 'booted',
    boot: (_candidate, ref, signal, rung) => options.boot(ref, signal, { rung }),
    isAskedAgain: true,
  })
}

/**
 * The ref {@link bootFromSpec} would boot, built where nothing was ready, without booting it. A string template is asked
 * for instead; one that belongs to another account counts, because public templates do.
 * @throws ResolutionError as {@link bootFromSpec} does.
 */
export async function resolveTemplate(
  spec: TemplateSpec | undefined,
  options: ResolveTemplateOptions,
): Promise<Omit<BootResult<never>, 'value'>> {
  const { api } = options
  const { ref, rung, attempts } = await climb(spec, resolveOptions(options), {
    outcome: 'resolved',
    boot: async (candidate, wanted, signal) => {
      if (candidate.kind === 'existing' && (await api.status(wanted, signal)) === 'missing') {
        throw new TemplateUnusableError(wanted, { message: `There is no template '${wanted}'` })
      }
    },
    isAskedAgain: false,
  })
  return { ref, rung, attempts }
}
