import { fail } from './error.ts'

/** Where an image is named and stored: `[registry[:port]/][path/]component`. */
export interface Prefix {
  readonly path: string
  /** The last component: what the cache key starts with, which has no registry. */
  readonly component: string
}

// The grammar of the OCI distribution specification and of Docker's reference package; both bound the whole name.
const NAME_LENGTH = 255
const component = /^[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*$/
const registry =
  /^(?:(?=[^:]*\.|localhost(?::|$)|[^:]+:)[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*|\[[0-9A-Fa-f:]+\])(?::[0-9]+)?$/
/** The dash and the 40 digits that follow. */
const HASH_LENGTH = 41

/**
 * Takes the part before `-<hash>` apart.
 *
 * @throws ImageTagError `PREFIX_INVALID` unless registries take it, with the hash behind it, for the name of an image.
 */
export function parsePrefix(prefix: string): Prefix {
  const parts = prefix.length + HASH_LENGTH > NAME_LENGTH ? [''] : prefix.split('/')
  const [first = ''] = parts
  const path = parts.length > 1 && isRegistry(first) ? parts.slice(1) : parts
  if (!path.every((part) => component.test(part))) {
    const grammar = 'lower-case letters and digits, with . _ __ or dashes between them'
    const message = `--prefix is no name an image can have (at most ${NAME_LENGTH - HASH_LENGTH} long)`
    fail('PREFIX_INVALID', message, `Write it like ghcr.io/acme/widgets: each part of ${grammar}.`)
  }
  return { path: prefix, component: path.at(-1) ?? '' }
}

const isRegistry = (text: string): boolean => {
  const port = Number(/:([0-9]+)$/.exec(text)?.[1] ?? 443)
  return registry.test(text) && port >= 1 && port <= 65_535
}

/** A prefix for a repository of any name. */
export function defaultPrefix(repository: string): string {
  const words = repository.toLowerCase().match(/[a-z0-9]+/g) ?? ['repository']
  return words.join('-').slice(0, 100).replace(/-$/, '')
}

/** The image, tagged by the commit, and by a digest of what is not committed. */
export const imageReference = (prefix: Prefix, hash: string, sha: string, changes: string | undefined): string =>
  `${prefix.path}-${hash}:sha-${sha}${changes === undefined ? '' : `-dirty-${changes}`}`

/** The key of a cache that outlives commits. */
export const cacheKey = (prefix: Prefix, hash: string): string => `${prefix.component}-${hash}`
