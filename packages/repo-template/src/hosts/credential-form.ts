import type { CloneUrl } from '@warmbox/identity'
import { RepoTemplateError } from '../errors.ts'

/**
 * How a token is written into the `Authorization` header. `basic`: as the password of `user`, which is what git itself
 * would send. `bearer`: as it is, for hosts that take nothing else, such as Azure DevOps for Entra tokens.
 */
export type CredentialForm = { readonly scheme: 'basic'; readonly user: string } | { readonly scheme: 'bearer' }

/** By host as in the clone URL: `git.example.com`, or `git.example.com:8443` for that port alone. */
export type CredentialForms = Readonly<Record<string, CredentialForm>>

/**
 * For hosts nobody named. GitHub's documentation uses this user for installation tokens; hosts that look at the
 * password only, which Gitea, Forgejo and GitLab (for access tokens) do, take any user.
 */
export const DEFAULT_CREDENTIAL_FORM: CredentialForm = Object.freeze({ scheme: 'basic', user: 'x-access-token' })

/** A host, or with a leading dot every host below it, and the user to present a token under. */
const users: readonly (readonly [host: string, user: string])[] = [
  ['github.com', 'x-access-token'],
  // GitHub Enterprise Cloud with data residency.
  ['.ghe.com', 'x-access-token'],
  // GitLab demands exactly this user for OAuth tokens, and takes any for personal, group and project tokens.
  ['gitlab.com', 'oauth2'],
  // Repository, project and workspace access tokens, and OAuth. (API tokens want x-bitbucket-api-token-auth.)
  ['bitbucket.org', 'x-token-auth'],
  // Azure DevOps ignores the user; it has to be there for clients that drop an empty one.
  ['dev.azure.com', 'pat'],
  ['.visualstudio.com', 'pat'],
  // Gitea and Forgejo look at the password alone.
  ['gitea.com', 'x-access-token'],
  ['codeberg.org', 'x-access-token'],
]

/** The caller's word for this host and port, for this host, the table's, the default: in this order. */
export const credentialFormOf = (
  { host, hostname }: Pick<CloneUrl, 'host' | 'hostname'>,
  forms: CredentialForms,
): CredentialForm => {
  // `Object.hasOwn`, so that a host called `constructor` is a host like any other.
  for (const key of [host, hostname]) {
    const form = Object.hasOwn(forms, key) ? forms[key] : undefined
    if (form !== undefined) return form
  }
  const row = users.find(([name]) => (name.startsWith('.') ? hostname.endsWith(name) : hostname === name))
  return row === undefined ? DEFAULT_CREDENTIAL_FORM : { scheme: 'basic', user: row[1] }
}

/** RFC 7617 ends the user at the first colon; the rest is what a header can hold. */
const userName = /^[\x21-\x39\x3b-\x7e]{1,128}$/

/**
 * Frozen, with hosts in lower case.
 * @throws RepoTemplateError `OPTION_TYPE` or `OPTION_INVALID`, whose `field` names the host.
 */
export const checkCredentialForms = (forms: CredentialForms | undefined): CredentialForms => {
  if (forms === undefined) return Object.freeze({})
  if (typeof forms !== 'object' || forms === null || Array.isArray(forms)) {
    throw invalid('OPTION_TYPE', 'credentialForms', 'must be an object with a form for each host')
  }
  const checked = Object.entries(forms).map(([host, form]: readonly [string, unknown]): [string, CredentialForm] => {
    const field = `credentialForms.${host.slice(0, 64)}`
    if (typeof form !== 'object' || form === null || !('scheme' in form)) {
      throw invalid('OPTION_TYPE', field, "must be { scheme: 'basic', user } or { scheme: 'bearer' }")
    }
    if (form.scheme === 'bearer') return [host.toLowerCase(), Object.freeze({ scheme: 'bearer' })]
    if (form.scheme === 'basic' && 'user' in form && typeof form.user === 'string' && userName.test(form.user)) {
      return [host.toLowerCase(), Object.freeze({ scheme: 'basic', user: form.user })]
    }
    throw invalid(
      'OPTION_INVALID',
      field,
      "must be { scheme: 'bearer' } or { scheme: 'basic', user }, user without a colon",
    )
  })
  return Object.freeze(Object.fromEntries(checked))
}

const invalid = (code: 'OPTION_TYPE' | 'OPTION_INVALID', field: string, what: string): RepoTemplateError =>
  new RepoTemplateError({
    code,
    field,
    message: `${field} ${what}`,
    hint: "Write credentialForms: { 'git.example.com': { scheme: 'basic', user: 'oauth2' } }, for one.",
  })
