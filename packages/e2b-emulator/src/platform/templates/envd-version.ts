import { hasAbility, type EnvdAbility } from '../../envd/index.ts'
import { badRequest } from '../api-error.ts'
import type { Platform } from '../platform.ts'

/** Refuses what the envd of the template cannot do with a 400. */
export function assertEnvd({ envdVersion }: Platform, ability: EnvdAbility, words: string): void {
  if (hasAbility(envdVersion, ability)) return
  throw badRequest(`The template's envd ${envdVersion} is too old for ${words}; build the template again`)
}
