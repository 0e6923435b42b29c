import { type CloneUrl, isWarmboxError, parseCloneUrl } from '@warmbox/identity'
import type { Head } from './head.ts'

const suffix = '/info/refs'
const query = '?service=git-upload-pack'

/** Where a clone URL's refs are advertised. */
export const advertisementUrl = (clone: CloneUrl): string => `${clone.cloneUrl.replace(/\/+$/, '')}${suffix}${query}`

/** For a redirect that is not followed. */
export const redirectedAway: Extract<Head, { status: 'refused' }> = Object.freeze({
  status: 'refused',
  code: 'REDIRECTED',
  reason: 'the host redirects away from the repository’s origin',
})

/**
 * The repository a redirect of the advertisement points to, where it stays on the origin (the credential was given
 * for that one) and still points to a repository's refs.
 */
export const sameOriginTarget = (from: CloneUrl, location: string | undefined): CloneUrl | undefined => {
  const asked = advertisementUrl(from)
  if (location === undefined || !URL.canParse(location, asked)) return undefined
  const target = new URL(location, asked)
  if (target.origin !== new URL(asked).origin || !target.pathname.endsWith(suffix) || target.search !== query) {
    return undefined
  }
  try {
    return parseCloneUrl(`${target.origin}${target.pathname.slice(0, -suffix.length)}`)
  } catch (error) {
    // A URL that may not be cloned is no target; everything else is a defect and shall be seen.
    if (isWarmboxError(error)) return undefined
    throw error
  }
}
