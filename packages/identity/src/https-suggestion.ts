import { IdentityError } from './identity-error.ts'

const otherForm =
  /^(?:(?:http|git|(?:git\+)?ssh|ssh\+git):\/\/(?:[^@/]*@)?([^/:[]+|\[[^/]+\])(?::[0-9]+)?\/|(?:[^@/:]*@)?([^/:[]{2,}|\[[^/]+\]):(?!\/\/)\/?)(.+)$/i
/** What hosts that serve ssh under a name of their own put before it. */
const sshPrefix = /^(?:alt)?ssh\./
const azureSsh = /^(?:dev\.azure|vs-ssh\.visualstudio)\.com\/v3\/([^/]+\/[^/]+)\//

/**
 * The https form of an http, ssh, git or scp-like URL, or `undefined` where there is none. A port belongs to the other
 * protocol and is left out. `accept` returns the form to
 * show and throws where the candidate is no clone URL, which also keeps leftovers of a credential out of the hint.
 */
export const httpsSuggestion = (url: string, accept: (candidate: string) => string): string | undefined => {
  const [, host, scpHost, path] = otherForm.exec(url) ?? []
  if (path === undefined) return undefined
  const candidate = `${(host ?? scpHost ?? '').toLowerCase()}/${path}`
    .replace(sshPrefix, '')
    .replace(azureSsh, 'dev.azure.com/$1/_git/')
  try {
    return accept(`https://${candidate}`)
  } catch (error) {
    // A candidate that is refused in its turn is no help to anyone; the caller then gives the general hint.
    if (error instanceof IdentityError) return undefined
    throw error
  }
}
