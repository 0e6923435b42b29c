import {
  canonicalText,
  DEFAULT_CPU_COUNT,
  DEFAULT_MEMORY_MB,
  digestText,
  IDENTITY_SCHEME,
  parseCloneUrl,
  type RepoTemplateIdentity,
} from '@warmbox/identity'

import type { FileHashes } from './hashed-files.ts'
import { cacheKey, defaultPrefix, imageReference, parsePrefix, type Prefix } from './image-reference.ts'
import type { GivenInputs } from './options.ts'

/** What a checkout adds to the inputs given. */
export interface FoundInputs {
  readonly cloneUrl: string
  readonly sha: string
  /** Digest of what is not committed. */
  readonly changes: string | undefined
  readonly files: FileHashes
}

/** A checkout's names with all they are made of. Holds values of variables: for {@link Named.identity}, see what a record leaves out. */
export interface Named {
  readonly image: string
  readonly cacheKey: string
  readonly hash: string
  readonly scheme: number
  readonly prefix: string
  readonly changes: string | undefined
  readonly identity: RepoTemplateIdentity
}

/** Stands where templates name what they start from. */
export const BASE_TEMPLATE_ID = 'image'

/** Files with an input each; beyond, or with a path that is none, their list is one input. */
const MAX_FILES = 128
const MAX_PATH_LENGTH = 200

/** Whether a path can be part of an input's key: identity takes 256 characters and no control but those of layout. */
const fits = (path: string): boolean => path.length <= MAX_PATH_LENGTH && /^[\t\n\r\P{Cc}]*$/u.test(path)

/** The part of the digest that names carry, as SCHEME.md of the identity package has it. */
const HASH_DIGITS = 40

/**
 * Names the image and the cache entry of a checkout.
 *
 * @throws IdentityError for an input that is refused; `field` says which.
 */
export function nameCheckout(found: FoundInputs, given: GivenInputs, givenPrefix: Prefix | undefined): Named {
  const identity = identityOf(found, given)
  const hash = hashOf(identity)
  const prefix = givenPrefix ?? parsePrefix(defaultPrefix(parseCloneUrl(found.cloneUrl).repository))
  return {
    image: imageReference(prefix, hash, found.sha, found.changes),
    cacheKey: cacheKey(prefix, hash),
    hash,
    scheme: IDENTITY_SCHEME,
    prefix: prefix.path,
    changes: found.changes,
    identity,
  }
}

/** The hash both names carry. */
export const hashOf = (identity: RepoTemplateIdentity): string =>
  digestText(canonicalText(identity)).slice(0, HASH_DIGITS)

const identityOf = (found: FoundInputs, given: GivenInputs): RepoTemplateIdentity => {
  const extra = new Map<string, string>()
  // A base image stands here: its registry, tag and digest are case-sensitive and fit into no template's ref.
  if (given.base !== undefined) extra.set('base', given.base)
  for (const [key, text] of Object.entries(given.extra)) extra.set(`extra:${key}`, text)
  const files = Object.entries(found.files)
  if (files.length <= MAX_FILES && files.every(([path]) => fits(path))) {
    for (const [path, hash] of files) extra.set(`file:${path}`, hash)
  } else extra.set('files', digestText(JSON.stringify(files.toSorted(([left], [right]) => (left < right ? -1 : 1)))))
  return {
    cloneUrl: found.cloneUrl,
    sha: found.sha,
    setupCommand: given.setup,
    buildEnv: given.env,
    // Written out, so that a record stays true where a default changes.
    cpuCount: given.cpuCount ?? DEFAULT_CPU_COUNT,
    memoryMB: given.memoryMB ?? DEFAULT_MEMORY_MB,
    ...(given.workingDirectory === undefined ? {} : { workingDirectory: given.workingDirectory }),
    submodules: given.submodules,
    lfs: given.lfs,
    // No template is built on here, and the default one's releases must not rename images.
    baseTemplateId: BASE_TEMPLATE_ID,
    salt: given.salt,
    extra: Object.fromEntries(extra),
  }
}
