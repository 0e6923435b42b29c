import { type CloneUrl, parseCloneUrl } from '@warmbox/identity'
import { findMisspeltName } from '@warmbox/resolution'
import { abortable } from './deadline.ts'
import { type Credential, credentialOf } from './credential.ts'
import { RepoTemplateError } from './errors.ts'
import { refusalOfHost } from './hosts/allowed-hosts.ts'
import { type CredentialForms, credentialFormOf } from './hosts/credential-form.ts'
import type { Refusal } from './refusal.ts'

/** A repository a session may read, and the credential for it. */
export interface RepositoryAccess {
  /** https clone URL, such as `https://github.com/acme/widgets.git`. Never with credentials in it. */
  cloneUrl: string
  /**
   * Credential of a private repository. Make it short-lived: the build service sees it, only its expiry bounds that.
   * Presented as the host wants it: see `credentialForms`.
   */
  authorization?: { scheme: 'bearer'; token: string }
}

/** A checked access. */
export interface Repository {
  readonly clone: CloneUrl
  readonly token: string | undefined
  /** The token as its host wants it. */
  readonly credential: Credential | undefined
}

/** What the caller says about hosts. */
export interface HostRules {
  readonly credentialForms: CredentialForms
  /** Absent: every host. */
  readonly allowedHosts: readonly string[] | undefined
}

const visibleAscii = /^[\x21-\x7e]+$/

/** For work on a repository that was asked for without one. */
export const noRepository = (): RepoTemplateError =>
  new RepoTemplateError({
    code: 'NO_REPOSITORY',
    field: 'getRepositoryAccess',
    message: 'There is no repository: getRepositoryAccess is undefined',
    hint: "Give getRepositoryAccess: async () => ({ cloneUrl: 'https://github.com/acme/widgets.git' }).",
  })

const refuse = (message: string, field: string, hint: string): never => {
  throw new RepoTemplateError({ code: 'ACCESS_INVALID', field, message, hint })
}

/**
 * @throws IdentityError for a clone URL that is not https or carries credentials, RepoTemplateError `ACCESS_INVALID`
 * for an authorization of another shape or a token that no header can hold.
 */
export const parseAccess = (access: RepositoryAccess, forms: CredentialForms): Repository => {
  if (typeof access !== 'object' || access === null) {
    return refuse(
      'getRepositoryAccess answered no object',
      'access',
      "Answer { cloneUrl: 'https://github.com/acme/widgets.git' }, or undefined for no access.",
    )
  }
  // A misspelt authorization would ask for a private repository as nobody. What else a host keeps in it is its own affair.
  const misspelt = findMisspeltName(access, ['cloneUrl', 'authorization'])
  if (misspelt !== undefined) return refuse(`An access has no '${misspelt.name}'`, misspelt.name, misspelt.hint)
  const clone = parseCloneUrl(access.cloneUrl)
  const { authorization } = access
  if (authorization === undefined) return { clone, token: undefined, credential: undefined }
  if (typeof authorization !== 'object' || authorization === null || authorization.scheme !== 'bearer') {
    return refuse(
      "authorization must be { scheme: 'bearer', token }",
      'authorization',
      'Leave it out for a public repository; how a host wants the token presented, credentialForms says.',
    )
  }
  const { token } = authorization
  if (typeof token !== 'string' || token === '') {
    return refuse('The token is empty', 'authorization.token', 'Leave authorization out for a public repository.')
  }
  if (!visibleAscii.test(token)) {
    return refuse(
      'The token has a character that no header may hold',
      'authorization.token',
      'Give the token alone, without spaces, line feeds or a scheme before it.',
    )
  }
  return { clone, token, credential: credentialOf(token, credentialFormOf(clone, forms)) }
}

/** What asking for access came to. */
export type AccessAnswer =
  | { readonly status: 'granted'; readonly access: RepositoryAccess; readonly repository: Repository }
  | Refusal

/**
 * Asks the accessor once. A rejection counts as refused access, not as a missing credential: a session whose token
 * could not be minted must not get the private code of one whose could. So does a host that is not allowed. Malformed
 * answers are errors of the caller's.
 */
export const acquireAccess = async (
  accessor: () => Promise<RepositoryAccess | undefined>,
  signal: AbortSignal | undefined,
  rules: HostRules,
): Promise<AccessAnswer> => {
  let access: RepositoryAccess | undefined
  try {
    // The function may throw before it has a promise.
    access = await abortable((async () => accessor())(), signal)
  } catch (cause) {
    if (signal?.aborted === true) throw signal.reason
    const name = cause instanceof Error ? cause.name : typeof cause
    return { status: 'refused', code: 'ACCESS_REJECTED', reason: `getRepositoryAccess rejected (${name})`, cause }
  }
  if (access === undefined) {
    return { status: 'refused', code: 'ACCESS_MISSING', reason: 'getRepositoryAccess answered nothing' }
  }
  const repository = parseAccess(access, rules.credentialForms)
  const refusal = await refusalOfHost(repository.clone, rules.allowedHosts)
  return refusal ?? { status: 'granted', access, repository }
}
