import { refuse } from './identity-error.ts'
import { isRelative } from './working-directory.ts'

export interface PathParts {
  readonly path: string
  readonly owner: string
  readonly repository: string
  readonly directory: string
}

const DIRECTORY_LENGTH = 100
/** Stands before the repository's name in every Azure DevOps path. */
const AZURE_MARKER = '_git'

const refusePath = (problem: string, cause?: unknown): never =>
  refuse('CLONE_URL_PATH', 'cloneUrl', problem, 'Write it like /acme/widgets.git.', cause)

/** Reads what follows the authority: empty, or a path that starts with a slash. */
export const readPath = (rawPath: string): PathParts => {
  if (/[[\]]|%(?![0-9A-Fa-f]{2})/.test(rawPath)) refusePath('has a bracket or lone %')
  let end = rawPath.length
  while (rawPath.charAt(end - 1) === '/') end -= 1
  const segments = rawPath.slice(1, end).split('/').map(canonicalSegment)
  const last = segments.pop()?.replace(/\.git$/, '') ?? ''
  if (last.endsWith('.git')) refusePath('has .git twice')
  segments.push(last)
  if (segments.some((segment) => segment === '' || isRelative(segment))) {
    refusePath('has an empty or relative segment')
  }
  const names = segments.map(unescapeSegment)
  const repository = names.pop() ?? ''
  if (names.at(-1) === AZURE_MARKER) names.pop()
  else if (repository === AZURE_MARKER) refusePath('ends before a repository')
  return { path: segments.join('/'), owner: names.join('/'), repository, directory: directoryName(repository) }
}

/** RFC 3986, 6.2.2: an escaped unreserved character equals the character; every other escape has upper-case digits. */
const canonicalSegment = (segment: string): string =>
  segment.includes('%')
    ? segment.replace(/%../g, (escape) => {
        const character = String.fromCharCode(Number.parseInt(escape.slice(1), 16))
        return /[A-Za-z0-9\-._~]/.test(character) ? character : escape.toUpperCase()
      })
    : segment

const unescapeSegment = (segment: string): string => {
  if (!segment.includes('%')) return segment
  let name: string
  try {
    name = decodeURIComponent(segment)
  } catch (cause) {
    return refusePath('has an escape that is not UTF-8', cause)
  }
  // Behind an escape, control characters (Unicode category Cc) and both slashes would end up in a path after all.
  return /[\p{Cc}/\\]/u.test(name) ? refusePath('escapes a slash or control character') : name
}

/** A leading dot or dash would make the directory hidden, a file of the home directory, or an option. */
const directoryName = (repository: string): string =>
  repository
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[.-]/, '_$&')
    .slice(0, DIRECTORY_LENGTH)
