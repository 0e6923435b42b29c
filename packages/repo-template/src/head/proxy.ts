type Environment = Readonly<Record<string, string | undefined>>

export type ProxyRoute =
  /** No variable speaks of https: connect directly. */
  | { readonly kind: 'direct' }
  /** Node's own agent applies the variables, `NO_PROXY` included. */
  | { readonly kind: 'agent'; readonly variables: { readonly HTTPS_PROXY: string; readonly NO_PROXY?: string } }
  /** Git has to, which leaves proxies of every kind to curl. */
  | { readonly kind: 'git' }

const value = (environment: Environment, name: string): string | undefined => {
  // curl reads the lower-case form first.
  const found = environment[name.toLowerCase()] ?? environment[name]
  return found === '' ? undefined : found
}

/** Node applies proxy variables given to an agent from 22.21 on in its 22 line, and from 24.5 on. */
const agentAppliesProxy = (version: string | undefined): boolean => {
  const [major = 0, minor = 0] = (version ?? '').split('.').map(Number)
  return major > 24 || (major === 24 && minor >= 5) || (major === 22 && minor >= 21)
}

/** How an https request leaves this process. */
export const proxyRoute = (environment: Environment, nodeVersion: string | undefined): ProxyRoute => {
  const https = value(environment, 'HTTPS_PROXY')
  if (https === undefined) return value(environment, 'ALL_PROXY') === undefined ? { kind: 'direct' } : { kind: 'git' }
  if (!/^https?:\/\//i.test(https) || !agentAppliesProxy(nodeVersion)) return { kind: 'git' }
  const exceptions = value(environment, 'NO_PROXY')
  return {
    kind: 'agent',
    variables: { HTTPS_PROXY: https, ...(exceptions === undefined ? {} : { NO_PROXY: exceptions }) },
  }
}
