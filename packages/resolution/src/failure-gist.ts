/**
 * Why a build failed, in a line. E2B quotes the whole script of a step that failed: the first line says which it is, and
 * what follows the quotation, how it ended. Redact first: a secret cut in two is no longer recognised.
 */
export function failureGist(message: string): string {
  const lines = message.split('\n')
  if (lines.length < 3) return message
  const last = lines.at(-1) ?? ''
  const end = last.lastIndexOf("': ")
  return `${lines.at(0)} …${end === -1 ? ` ${last}` : last.slice(end)}`
}
