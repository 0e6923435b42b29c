import { createHash, randomBytes } from 'node:crypto'
import { EmulatorError } from '../errors.ts'

/** Every identifier the platform hands out, in its shape. None of them is a secret. */
export interface Identifiers {
  /** 20 characters of `[a-z0-9]`. */
  template(): string
  /** A UUID. */
  build(): string
  /** 20 characters of `[a-z0-9]`. */
  sandbox(): string
}

/**
 * Shapes identifiers out of a source of distinct strings, which may be as predictable as a test wants. They throw
 * `INVALID_OPTION` where the source gives something else: two things of one id would be taken for each other.
 */
export function identifiersFrom(source: () => string): Identifiers {
  const given = new Set<string>()
  const next = (): string => {
    const text: unknown = source()
    if (typeof text !== 'string' || text === '') {
      throw new EmulatorError(
        'INVALID_OPTION',
        `ids must return distinct strings, and returned ${JSON.stringify(text)}`,
      )
    }
    if (given.has(text)) throw new EmulatorError('INVALID_OPTION', `ids must not return ${JSON.stringify(text)} again`)
    given.add(text)
    return text
  }
  const digest = () => createHash('sha256').update(next()).digest('hex')
  return {
    template: () => digest().slice(0, 20),
    sandbox: () => `i${digest().slice(0, 19)}`,
    build: () => uuidOf(digest()),
  }
}

/** The id of the team with this namespace, always the same. */
export const teamId = (slug: string): string => uuidOf(createHash('sha256').update(`team:${slug}`).digest('hex'))

const uuidOf = (hex: string): string =>
  [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`, hex.slice(20, 32)].join('-')

/** Distinct strings that nobody can guess. */
export const randomIdentifierSource = (): string => randomBytes(32).toString('hex')

/** Distinct strings that are the same on each run with the same seed. */
export function seededIdentifierSource(seed: string | number): () => string {
  let count = 0
  return () => `${seed}:${(count += 1)}`
}

/** A bearer secret. Always random: whoever has it can run commands. */
export const secretToken = (): string => randomBytes(24).toString('hex')
