import { IdentityError } from './identity-error.ts'

const schemeForm = /^([a-z][a-z0-9+.-]*):\/\/(?:[^@/?#]*@)?(\[[0-9a-f:.]+\]|[^@:/?#[\]]+)(?::([0-9]+))?\/(.*)$/i
const scpForm = /^(?:[^@/:]*@)?(\[[0-9a-f:.]+\]|[a-z0-9._-]{2,}):(?!\/\/)\/?(.+)$/i
const azureSshPath = /^v3\/([^/]+)\/([^/]+)\/([^/]+)$/

/** Hosts that serve ssh under a name of their own. */
const httpsHostOf = new Map([
  ['ssh.github.com', 'github.com'],
  ['altssh.gitlab.com', 'gitlab.com'],
  ['altssh.bitbucket.org', 'bitbucket.org'],
])
const azureSshHosts = new Set(['ssh.dev.azure.com', 'vs-ssh.visualstudio.com'])

/**
 * The https form of an http, ssh, git or scp-like URL, or `undefined` where there is none. `accept` returns the form to
 * show and throws where the candidate is no clone URL, which also keeps leftovers of a credential out of the hint.
 */
export const httpsSuggestion = (url: string, accept: (candidate: string) => string): string | undefined => {
  const candidate = candidateOf(url)
  if (candidate === undefined) return undefined
  try {
    return accept(candidate)
  } catch (error) {
    // A candidate that is refused in its turn is no help to anyone; the caller then gives the general hint.
    if (error instanceof IdentityError) return undefined
    throw error
  }
}

const candidateOf = (url: string): string | undefined => {
  const withScheme = schemeForm.exec(url)
  if (withScheme !== null) {
    const [, scheme = '', host = '', port, path = ''] = withScheme
    switch (scheme.toLowerCase()) {
      case 'http':
        return port === undefined || port === '80' ? `https://${host}/${path}` : `https://${host}:${port}/${path}`
      case 'git':
      case 'ssh':
      case 'git+ssh':
      case 'ssh+git':
        return httpsForm(host, path)
      default:
        return undefined
    }
  }
  const scp = scpForm.exec(url)
  if (scp === null) return undefined
  const [, host = '', path = ''] = scp
  return httpsForm(host, path)
}

const httpsForm = (sshHost: string, path: string): string => {
  const host = sshHost.toLowerCase()
  const azure = azureSshHosts.has(host) ? azureSshPath.exec(path) : null
  if (azure !== null) {
    const [, organisation, project, repository] = azure
    return `https://dev.azure.com/${organisation}/${project}/_git/${repository}`
  }
  return `https://${httpsHostOf.get(host) ?? host}/${path}`
}
