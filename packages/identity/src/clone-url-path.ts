import { IdentityError } from './identity-error.ts'

export interface PathParts {
  readonly path: string
  readonly owner: string
  readonly repository: string
  readonly directory: string
}

const pathCharacters = /^[A-Za-z0-9\-._~:!$&'()*+,;=%/]*$/
const brokenEscape = /%(?![0-9A-Fa-f]{2})/
const escape = /%[0-9A-Fa-f]{2}/g
const unreserved = /[A-Za-z0-9\-._~]/
// Control characters (Unicode category Cc) and both slashes: behind an escape they would end up in a path after all.
const unsafeUnescaped = /[\p{Cc}/\\]/u
const outsideDirectory = /[^A-Za-z0-9._-]+/g
const DIRECTORY_LENGTH = 100
const GIT_SUFFIX = '.git'
/** Stands before the repository's name in every Azure DevOps path. */
const AZURE_MARKER = '_git'

const pathError = (message: string, hint: string, cause?: unknown): IdentityError =>
  new IdentityError({
    code: 'CLONE_URL_PATH',
    field: 'cloneUrl',
    message,
    hint,
    ...(cause === undefined ? {} : { cause }),
  })

/** Reads what follows the authority: empty, or a path that starts with a slash. */
export const pathOf = (rawPath: string): PathParts => {
  if (!pathCharacters.test(rawPath)) {
    throw pathError('cloneUrl has a bracket in its path', 'Percent-escape [ and ] as %5B and %5D.')
  }
  if (brokenEscape.test(rawPath)) {
    throw pathError('cloneUrl has a percent sign without two hex digits', 'Write a percent sign as %25.')
  }
  const segments = withoutTrailingSlashes(rawPath).slice(1).split('/').map(canonicalSegment)
  const last = withoutGitSuffix(segments.pop() ?? '')
  segments.push(last)
  const names = segments.map(unescapeSegment)
  const repository = names.pop() ?? ''
  if (names.at(-1) === AZURE_MARKER) names.pop()
  else if (repository === AZURE_MARKER) {
    throw pathError('cloneUrl ends before the repository', 'Add the name after _git/.')
  }
  return {
    path: segments.join('/'),
    owner: names.join('/'),
    repository,
    directory: directoryName(repository),
  }
}

const withoutTrailingSlashes = (path: string): string => {
  let end = path.length
  while (end > 0 && path.charAt(end - 1) === '/') end -= 1
  return path.slice(0, end)
}

const canonicalSegment = (segment: string): string => {
  const text = segment.includes('%') ? segment.replace(escape, canonicalEscape) : segment
  if (text === '' || text === '.' || text === '..') {
    throw pathError(
      'cloneUrl has an empty or relative path segment, or no path at all',
      'Write every segment once, like https://github.com/acme/widgets.git.',
    )
  }
  return text
}

/** RFC 3986, 6.2.2: an escaped unreserved character equals the character; every other escape has upper-case digits. */
const canonicalEscape = (escaped: string): string => {
  const character = String.fromCharCode(Number.parseInt(escaped.slice(1), 16))
  return unreserved.test(character) ? character : escaped.toUpperCase()
}

const withoutGitSuffix = (segment: string): string => {
  const name = segment.endsWith(GIT_SUFFIX) ? segment.slice(0, -GIT_SUFFIX.length) : segment
  if (name === '' || name === '.' || name === '..' || name.endsWith(GIT_SUFFIX)) {
    throw pathError(
      'cloneUrl names no repository before .git',
      'Write the name with one .git or none, like https://github.com/acme/widgets.git.',
    )
  }
  return name
}

const unescapeSegment = (segment: string): string => {
  if (!segment.includes('%')) return segment
  let text: string
  try {
    text = decodeURIComponent(segment)
  } catch (cause) {
    throw pathError('cloneUrl has an escape that is not UTF-8', 'Escape the UTF-8 bytes of the character.', cause)
  }
  if (unsafeUnescaped.test(text)) {
    throw pathError(
      'cloneUrl hides a slash, a backslash or a control character behind an escape',
      'Write a slash as itself; the others cannot be part of a clone URL.',
    )
  }
  return text
}

/** A leading dot or dash would make the directory hidden, a file of the home directory, or an option. */
const directoryName = (repository: string): string => {
  const name = repository.replace(outsideDirectory, '-')
  return (name.startsWith('.') || name.startsWith('-') ? `_${name}` : name).slice(0, DIRECTORY_LENGTH)
}
