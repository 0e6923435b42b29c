import { IDENTITY_SCHEME, isWarmboxError } from '@warmbox/identity'

import { imageReference, parsePrefix } from './image-reference.ts'
import { BASE_TEMPLATE_ID, hashOf } from './named.ts'
import type { Recorded } from './recorded.ts'

/**
 * What in a record contradicts the rest of it, in words that quote none of it; `undefined` where all of it could have been
 * written by this program. Where values are hidden, the hash cannot be computed again and is believed.
 */
export function disagreement(record: Recorded): string | undefined {
  const { image, hash, scheme, prefix, changes, identity, hiddenEnv, salted } = record
  if (!Number.isInteger(scheme) || scheme < 1 || scheme > IDENTITY_SCHEME) return 'scheme is none that is known here'
  const variables = [...hiddenEnv, ...Object.keys(identity.buildEnv ?? {})]
  if (new Set(variables).size !== variables.length) return 'a variable is listed twice'
  if (identity.baseTemplateId !== BASE_TEMPLATE_ID) return 'baseTemplateId is not the one of images'
  if (!/^[0-9a-f]{40}$/.test(hash)) return 'hash is not 40 hex digits'
  if (changes !== undefined && !/^[0-9a-f]{32}$/.test(changes)) return 'changes is not 32 hex digits'
  try {
    const blanks = Object.fromEntries(hiddenEnv.map((name) => [name, '']))
    const computed = hashOf({ ...identity, buildEnv: { ...identity.buildEnv, ...blanks } })
    const verifiable = hiddenEnv.length === 0 && !salted && scheme === IDENTITY_SCHEME
    if (verifiable && computed !== hash) return 'hash is not that of its inputs'
    const expected = imageReference(parsePrefix(prefix), hash, identity.sha ?? '', changes)
    return image === expected ? undefined : 'image is not made of its prefix, hash, commit and changes'
  } catch (error) {
    if (!isWarmboxError(error)) throw error
    return 'its inputs are none that can be named'
  }
}
