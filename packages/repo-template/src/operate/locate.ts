import type { ResolveContext } from '@warmbox/resolution'
import { plainValues } from '../build/build-environment.ts'
import { RepoTemplateError } from '../errors.ts'
import { gatherImageInputs } from '../image-inputs.ts'
import type { ResolvedOptions } from '../options.ts'
import { acquireAccess, noRepository } from '../repository-access.ts'

/** A repository's template as the platform knows it. */
export interface Located {
  readonly name: string
  /** What the platform's answers about its builds could quote. */
  readonly secrets: readonly string[]
}

/**
 * The name of a repository's template. Asks for access and build variables, which decide it; the repository's host is
 * not asked.
 *
 * @throws RepoTemplateError `NO_REPOSITORY`, `ACCESS_REFUSED`, `BUILD_ENV_FAILED` or `BASE_FAILED`.
 */
export const locateTemplate = async (options: ResolvedOptions, signal: ResolveContext['signal']): Promise<Located> => {
  if (options.getRepositoryAccess === undefined) {
    throw noRepository()
  }
  const answer = await acquireAccess(options.getRepositoryAccess, signal, options)
  if (answer.status === 'refused') {
    throw new RepoTemplateError({ code: 'ACCESS_REFUSED', message: answer.reason, cause: answer.cause })
  }
  const image = await gatherImageInputs(options, answer.access.cloneUrl, signal)
  if (image.status === 'failed') throw new RepoTemplateError(image.failure)
  const { token } = answer.repository
  const values = Object.values(plainValues(image.identity.buildEnv))
  return { name: image.name, secrets: [...(token === undefined ? [] : [token]), ...values] }
}
