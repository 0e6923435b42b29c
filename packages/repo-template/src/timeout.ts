import { RepoTemplateError } from './errors.ts'

/** @throws RepoTemplateError `OPTION_INVALID` for anything but a whole number of milliseconds that a timer can hold. */
export const timeoutOf = (value: number | undefined, field: string, fallback: number): number => {
  if (value === undefined) return fallback
  if (Number.isSafeInteger(value) && value >= 1 && value <= 2_147_483_647) return value
  throw new RepoTemplateError({
    code: 'OPTION_INVALID',
    field,
    message: `${field} must be a whole number of milliseconds, at least 1`,
    hint: `Give a number up to 2147483647, or leave it out for ${fallback}.`,
  })
}
