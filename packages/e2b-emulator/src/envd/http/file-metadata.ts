import { FileRequestError } from './file-request.ts'

const HEADER_PREFIX = 'x-metadata-'
/** How the attribute of a file begins that holds one entry; it counts towards the limits. */
const ATTRIBUTE_PREFIX = 'user.e2b.'
const LONGEST_KEY = 246
const MOST_BYTES = 4096

const PRINTABLE = /^[\x20-\x7e]*$/

/**
 * What the `X-Metadata-*` headers of an upload want kept with the file, keys in lower case. Throws a 400 for what is no
 * printable ASCII and for what would not fit into attributes, by the limits of the published contract.
 */
export function fileMetadata(headers: Headers): Readonly<Record<string, string>> {
  const entries = [...headers]
    .filter(([name]) => name.startsWith(HEADER_PREFIX))
    .map(([name, value]): [string, string] => [name.slice(HEADER_PREFIX.length), value])
  for (const [key, value] of entries) {
    if (key === '' || !PRINTABLE.test(key)) throw new FileRequestError(400, `invalid metadata key '${key}'`)
    if (!PRINTABLE.test(value)) throw new FileRequestError(400, `invalid metadata value for key '${key}'`)
    if (key.length > LONGEST_KEY) throw new FileRequestError(400, `metadata key is longer than ${LONGEST_KEY} bytes`)
  }
  const bytes = entries.reduce((sum, [key, value]) => sum + ATTRIBUTE_PREFIX.length + key.length + value.length, 0)
  if (bytes > MOST_BYTES) throw new FileRequestError(400, `metadata is larger than ${MOST_BYTES} bytes`)
  return Object.fromEntries(entries)
}
