/**
 * Accepts what hosts accept: the token as a bearer credential, or as the password of one user in basic form.
 * A wrong user name is refused, so that a client presenting the token in some other shape is noticed.
 */
export const isAuthorized = (header: string | undefined, token: string | undefined, user: string): boolean => {
  if (token === undefined) return true
  if (header === undefined) return false
  const separator = header.indexOf(' ')
  const scheme = header.slice(0, separator).toLowerCase()
  const credentials = header.slice(separator + 1).trim()
  if (scheme === 'bearer') return credentials === token
  if (scheme === 'basic') return Buffer.from(credentials, 'base64').toString('utf8') === `${user}:${token}`
  return false
}
