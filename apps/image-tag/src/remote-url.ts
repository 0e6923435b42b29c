import { IdentityError, parseCloneUrl } from '@warmbox/identity'

import { fail } from './error.ts'
import { plain } from './plain.ts'
import { refusalOf } from './refused-input.ts'

/** A clone URL that names can be made of. */
export interface RemoteUrl {
  readonly cloneUrl: string
  /** Whether a user or a credential stood before the host; it is left out. */
  readonly stripped: boolean
}

/** What stands before the host, where every parser agrees on where it ends. */
const user = /^https:\/\/[^/?#@]*@(?![^/?#]*@)/i

/**
 * The URL of a checkout's remote as a clone URL. Credentials, which CI systems write into it, are left out.
 *
 * @throws ImageTagError `REMOTE_UNUSABLE` for a form that names no repository over https, with the form to give by `--url`
 * where there is one. The URL itself is quoted nowhere.
 */
export function readRemoteUrl(remote: string, url: string): RemoteUrl {
  const bare = url.replace(user, 'https://')
  try {
    return { cloneUrl: parseCloneUrl(bare).cloneUrl, stripped: bare !== url }
  } catch (error) {
    if (!(error instanceof IdentityError)) throw error
    const { problem, hint } = refusalOf(error)
    const message = `The URL of the remote ${plain(remote)} cannot be used: it ${problem}`
    return fail('REMOTE_UNUSABLE', message, `${hint}\nGive the URL that names the repository by --url.`, error)
  }
}
