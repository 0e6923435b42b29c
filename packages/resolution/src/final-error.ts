import { ResolutionError } from './errors.ts'
import type { Attempt } from './events.ts'

/** What a climb ends with that found nothing to boot: it names every rung that was tried. */
export function finalError(
  because: 'exhausted' | 'strict',
  attempts: readonly Attempt[],
  cause: unknown,
): ResolutionError {
  if (because === 'strict') {
    const ref = attempts.at(-1)?.ref ?? ''
    return new ResolutionError({
      code: 'TEMPLATE_MISSING',
      message: `The template '${ref}' does not exist or cannot be booted`,
      hint: 'Correct its name, or leave strictTemplate unset to start from the default template',
      cause,
      attempts,
    })
  }
  const isQuota = isQuotaAlone(attempts)
  const tried = attempts.map(({ rung, ref, outcome }) => `${rung} '${ref}' ${outcome}`).join(', ')
  return new ResolutionError({
    code: 'LADDER_EXHAUSTED',
    message: isQuota
      ? `No template could be booted, and a limit of the account kept one from being built: ${tried}`
      : `No template could be booted: ${tried}`,
    hint: isQuota
      ? 'Wait for running builds to end or raise the limit of the plan, then start again'
      : 'See attempts for the reason of each, and the cause for the last failure',
    cause,
    attempts,
  })
}

/** Nothing failed but a build that was refused for a limit; whatever else was tried is not there. */
function isQuotaAlone(attempts: readonly Attempt[]): boolean {
  const failed = attempts.filter(({ outcome }) => outcome !== 'missing' && outcome !== 'unusable')
  return failed.length > 0 && failed.every(({ code }) => code === 'QUOTA_EXCEEDED')
}
