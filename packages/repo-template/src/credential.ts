import type { CredentialForm } from './hosts/credential-form.ts'

/** A token in the form its host wants. */
export interface Credential {
  readonly scheme: 'Basic' | 'Bearer'
  /** Base64 of `user:token`, which is what `Basic` wants, or of the token itself: nothing for a shell or E2B to expand. */
  readonly encoded: string
}

export const credentialOf = (token: string, form: CredentialForm): Credential =>
  form.scheme === 'bearer'
    ? { scheme: 'Bearer', encoded: toBase64(token) }
    : { scheme: 'Basic', encoded: toBase64(`${form.user}:${token}`) }

/** Value of the `Authorization` header. */
export const authorizationOf = ({ scheme, encoded }: Credential): string =>
  `${scheme} ${scheme === 'Basic' ? encoded : atob(encoded)}`

/** Standard base64 of the text's UTF-8, without `Buffer`, which not every runtime has. */
export const toBase64 = (text: string): string =>
  btoa(Array.from(new TextEncoder().encode(text), (byte) => String.fromCodePoint(byte)).join(''))

/** The only forms of `http.<url>.*` that stop at the origin: scheme, host and port, with a slash. */
export const originScope = (origin: string): string => `http.${origin}/.extraheader`
