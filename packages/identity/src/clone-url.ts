import { hostOf, portOf } from './clone-url-authority.ts'
import { type PathParts, pathOf } from './clone-url-path.ts'
import { httpsSuggestion } from './https-suggestion.ts'
import { IdentityError, type IdentityErrorCode } from './identity-error.ts'
import { LIMITS } from './limits.ts'
import { assertBounded } from './text.ts'

/** An https clone URL in its parts. */
export interface CloneUrl {
  /**
   * The one spelling that identifies the repository: `https://host[:port]/path`, host in lower case, no `:443`, no user,
   * no `.git`, no trailing slash, escapes in one form. The path's case is kept.
   */
  readonly canonical: string
  /** What git is given: the URL as it was passed, less a `user@`. */
  readonly cloneUrl: string
  /** Host with its port, where it is not 443. An IPv6 address stands in brackets. */
  readonly host: string
  /** Host without its port. */
  readonly hostname: string
  /** `undefined` for 443. */
  readonly port: number | undefined
  /** Canonical path without slashes at its ends and without `.git`; escapes kept. */
  readonly path: string
  /** All segments before the repository, unescaped and joined by `/`; less Azure DevOps' `_git`. Empty where there are none. */
  readonly owner: string
  /** The last segment, unescaped, without `.git`. */
  readonly repository: string
  /** Directory to clone into: `[A-Za-z0-9_][A-Za-z0-9._-]*`, at most 100 long, so safe as a path segment and as a shell word. */
  readonly directory: string
  /** `https://host[:port]`: the scope credentials are valid for. */
  readonly origin: string
}

const rfc3986 = /^[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=%]+$/
const https = /^https:\/\//i
const endOfAuthority = /[/?#]/

const refuse = (code: IdentityErrorCode, message: string, hint?: string): never => {
  throw new IdentityError({ code, field: 'cloneUrl', message, hint })
}

/**
 * Takes an https clone URL apart. Characters outside RFC 3986 are refused before anything is parsed, so that no parser
 * can trim, fold or re-encode one into a URL that means something else.
 *
 * @throws IdentityError with a `CLONE_URL_*` code. Neither message nor hint quotes a URL that may carry a credential.
 */
export function parseCloneUrl(url: string): CloneUrl {
  assertRawText(url)
  if (!https.test(url)) {
    const suggestion = httpsSuggestion(url, (candidate) => parseHttps(candidate).cloneUrl)
    return refuse(
      'CLONE_URL_PROTOCOL',
      'cloneUrl is not an https URL',
      suggestion === undefined
        ? 'Use the https form, like https://github.com/acme/widgets.git. A local path or file URL needs a server in front of it.'
        : `Use the https form: ${suggestion}`,
    )
  }
  return parseHttps(url)
}

const assertRawText = (url: string): void => {
  assertBounded(url, 'cloneUrl', LIMITS.cloneUrl)
  if (url === '') {
    throw new IdentityError({
      code: 'INPUT_REQUIRED',
      field: 'cloneUrl',
      message: 'cloneUrl is empty',
      hint: 'Pass the https clone URL, like https://github.com/acme/widgets.git.',
    })
  }
  if (rfc3986.test(url)) return
  if (/\s/.test(url)) {
    refuse('CLONE_URL_CHARACTER', 'cloneUrl contains whitespace', 'Remove it; write a space inside the path as %20.')
  }
  if (/[^\0-\x7f]/.test(url)) {
    refuse(
      'CLONE_URL_CHARACTER',
      'cloneUrl contains a character outside ASCII',
      'Write the host in its xn-- form and percent-escape the path.',
    )
  }
  refuse(
    'CLONE_URL_CHARACTER',
    'cloneUrl contains a character that no URL may hold',
    'Percent-escape it in the path; nowhere else can it stand.',
  )
}

const parseHttps = (url: string): CloneUrl => {
  const afterScheme = url.slice('https://'.length)
  const end = afterScheme.search(endOfAuthority)
  const authority = end === -1 ? afterScheme : afterScheme.slice(0, end)
  const afterAuthority = end === -1 ? '' : afterScheme.slice(end)
  const at = authority.lastIndexOf('@')
  assertNoCredentials(at === -1 ? '' : authority.slice(0, at), afterAuthority)
  const hostAndPort = authority.slice(at + 1)
  const { hostname, rawPort } = hostOf(hostAndPort)
  const port = portOf(rawPort)
  const parts: PathParts = pathOf(afterAuthority)
  const host = port === undefined ? hostname : `${hostname}:${port}`
  const origin = `https://${host}`
  return Object.freeze({
    canonical: `${origin}/${parts.path}`,
    cloneUrl: `https://${hostAndPort}${afterAuthority}`,
    host,
    hostname,
    port,
    path: parts.path,
    owner: parts.owner,
    repository: parts.repository,
    directory: parts.directory,
    origin,
  })
}

const assertNoCredentials = (user: string, afterAuthority: string): void => {
  // An `@` further on is what is left of a password that holds a slash, a question mark or a hash.
  if (user.includes(':') || user.includes('@') || afterAuthority.includes('@')) {
    refuse(
      'CLONE_URL_CREDENTIALS',
      'cloneUrl carries credentials',
      'Leave them out and pass the credential on its own; write an @ that belongs to the path as %40.',
    )
  }
  if (afterAuthority.includes('#')) {
    refuse('CLONE_URL_FRAGMENT', 'cloneUrl has a fragment', 'Remove the # part; name a branch with the option for it.')
  }
  if (afterAuthority.includes('?')) {
    refuse('CLONE_URL_QUERY', 'cloneUrl has a query', 'Remove the ? part; git would append its own paths to it.')
  }
}
