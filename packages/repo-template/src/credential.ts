/**
 * How a token is presented to git over https, which knows basic authorization only. `x-access-token` is the user name
 * GitHub documents for installation tokens; GitLab, Gitea and Forgejo accept any.
 */
export const basicCredential = (token: string): string => toBase64(`x-access-token:${token}`)

/** Standard base64 of the text's UTF-8, without `Buffer`, which not every runtime has. */
export const toBase64 = (text: string): string =>
  btoa(Array.from(new TextEncoder().encode(text), (byte) => String.fromCodePoint(byte)).join(''))

/** The only forms of `http.<url>.*` that stop at the origin: scheme, host and port, with a slash. */
export const originScope = (origin: string): string => `http.${origin}/.extraheader`
