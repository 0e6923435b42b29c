import { ResolutionError } from './errors.ts'

/**
 * Writes a value as one word of a POSIX shell command, whatever it holds.
 * @throws ResolutionError `INVALID_SHELL_WORD` for a NUL character, which no shell word can hold.
 */
export function quoteShell(value: string): string {
  if (value.includes('\0')) {
    throw new ResolutionError({
      code: 'INVALID_SHELL_WORD',
      message: 'A shell word cannot hold a NUL character',
      hint: 'Remove the NUL character from the value',
    })
  }
  return `'${value.replaceAll("'", `'\\''`)}'`
}
