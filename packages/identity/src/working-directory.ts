import { refuse } from './identity-error.ts'
import { bounded } from './input.ts'
import { LINE_LENGTH } from './limits.ts'

const plainAbsolutePath = /^\/[A-Za-z0-9._+@=,/-]*$/

/** An absolute directory in its one spelling, of characters that neither a shell nor git nor E2B reads as anything else. */
export const normalizeWorkingDirectory = (value: unknown): string => {
  const directory = bounded(value, 'workingDirectory', LINE_LENGTH)
  const segments = directory.split('/').filter((segment) => segment !== '')
  if (!plainAbsolutePath.test(directory) || segments.length === 0 || segments.some(isRelative)) {
    refuse(
      'WORKING_DIRECTORY_INVALID',
      'workingDirectory',
      'is no plain absolute path',
      'Use / and letters, digits, . _ + @ = , - only.',
    )
  }
  return `/${segments.join('/')}`
}

/** `.` and `..`, which name no directory of their own. */
export const isRelative = (segment: string): boolean => segment === '.' || segment === '..'
