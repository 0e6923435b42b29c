import { readAuthority } from './clone-url-host.ts'
import { readPath } from './clone-url-path.ts'
import { httpsSuggestion } from './https-suggestion.ts'
import { refuse } from './identity-error.ts'
import { bounded } from './input.ts'
import { URL_LENGTH } from './limits.ts'

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

const FIELD = 'cloneUrl'
const rfc3986 = /^[A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=%]+$/
const https = /^https:\/\//i
const EXAMPLE = 'https://github.com/acme/widgets.git'

/**
 * Takes an https clone URL apart. Characters outside RFC 3986 are refused before anything is parsed, so that no parser
 * can trim, fold or re-encode one into a URL that means something else.
 *
 * @throws IdentityError with a `CLONE_URL_*` code. Neither message nor hint quotes a URL that may carry a credential.
 */
export function parseCloneUrl(url: string): CloneUrl {
  if (bounded(url, FIELD, URL_LENGTH) === '')
    refuse('INPUT_REQUIRED', FIELD, 'must not be empty', `Write it like ${EXAMPLE}.`)
  if (!rfc3986.test(url)) {
    const hint = 'Escape it; a host has an xn-- form.'
    refuse('CLONE_URL_CHARACTER', FIELD, 'holds a character no URL has', hint)
  }
  if (!https.test(url)) {
    const suggestion = httpsSuggestion(url, (candidate) => readHttps(candidate).cloneUrl)
    const hint = suggestion ?? `like ${EXAMPLE}`
    refuse('CLONE_URL_PROTOCOL', FIELD, 'is not an https URL', `Use the https form: ${hint}`)
  }
  return readHttps(url)
}

const readHttps = (url: string): CloneUrl => {
  const afterScheme = url.slice('https://'.length)
  const end = (afterScheme.search(/[/?#]/) + 1 || afterScheme.length + 1) - 1
  const rest = afterScheme.slice(end)
  const at = afterScheme.lastIndexOf('@', end - 1)
  const user = afterScheme.slice(0, Math.max(at, 0))
  // An `@` further on is what is left of a password that holds a slash, a question mark or a hash.
  if (/[:@]/.test(user) || rest.includes('@')) {
    refuse('CLONE_URL_CREDENTIALS', FIELD, 'carries credentials', 'Pass them apart; an @ in a path is %40.')
  }
  if (rest.includes('#')) refuse('CLONE_URL_FRAGMENT', FIELD, 'has a fragment', 'Name a branch by an option.')
  if (rest.includes('?')) refuse('CLONE_URL_QUERY', FIELD, 'has a query', 'Leave it out.')
  const { hostname, port } = readAuthority(afterScheme.slice(at + 1, end))
  const parts = readPath(rest)
  const host = port === undefined ? hostname : `${hostname}:${port}`
  const origin = `https://${host}`
  return Object.freeze({
    canonical: `${origin}/${parts.path}`,
    cloneUrl: `https://${afterScheme.slice(at + 1)}`,
    host,
    hostname,
    port,
    ...parts,
    origin,
  })
}
