import { IdentityError } from './identity-error.ts'
import { LIMITS } from './limits.ts'
import { assertBounded } from './text.ts'

const plainAbsolutePath = /^\/[A-Za-z0-9._+@=,/-]*$/

/**
 * An absolute directory in its one spelling: single slashes, none at the end.
 *
 * @throws IdentityError `WORKING_DIRECTORY_INVALID` for a relative path, the root, `.` or `..` segments and characters
 * that a shell, git or E2B could read as something else.
 */
export const normalizeWorkingDirectory = (directory: string): string => {
  assertBounded(directory, 'workingDirectory', LIMITS.workingDirectory)
  const segments = directory.split('/').filter((segment) => segment !== '')
  if (
    !plainAbsolutePath.test(directory) ||
    segments.length === 0 ||
    segments.includes('.') ||
    segments.includes('..')
  ) {
    throw new IdentityError({
      code: 'WORKING_DIRECTORY_INVALID',
      field: 'workingDirectory',
      message: 'workingDirectory is not an absolute directory made of plain path segments',
      hint: 'Write it like /home/user/widgets: letters, digits and . _ + @ = , - only, no . or .. segments, not the root.',
    })
  }
  return `/${segments.join('/')}`
}
