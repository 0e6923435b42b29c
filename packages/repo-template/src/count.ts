import { RepoTemplateError } from './errors.ts'

/** @throws RepoTemplateError `OPTION_INVALID` for anything but a whole number from `least` (default 1) on. */
export const countOf = (value: number | undefined, field: string, fallback: number, least = 1): number => {
  if (value === undefined) return fallback
  if (Number.isSafeInteger(value) && value >= least) return value
  throw new RepoTemplateError({
    code: 'OPTION_INVALID',
    field,
    message: `${field} must be a whole number, at least ${least}`,
    hint: `Write ${field}: ${Math.max(fallback, least)}, for one, or leave it out.`,
  })
}
