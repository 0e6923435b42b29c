import type { DeferredNamedTemplateSpec } from '@warmbox/resolution'
import { assertSignal } from './known-keys.ts'
import { resolveOptions, type RepoTemplateOptions } from './options.ts'
import { prepareSpec } from './prepare-spec.ts'

/**
 * Makes the template spec of a repository: at each resolution it asks for access and for the commit the default branch
 * (or `branch`, `tag`, `pull`) points to, and names the template `mastra-repo-<hash>:sha-<commit>`. An unmoved head
 * reuses the build there is; a moved one boots the build `current` points to and builds the new commit meanwhile.
 *
 * - Head unreachable: `name:current` is booted; where nothing is there, whatever the host gives is built as
 *   `name:unpinned`, which is never taken for a commit.
 * - Access refused (401, 403, 404, the accessor rejected or answered nothing): no template of this repository is booted,
 *   only `fallbackTemplate` or the default one.
 *
 * Answers `undefined` where `getRepositoryAccess` is: a session without a repository needs no template. Does no I/O.
 *
 * @throws RepoTemplateError or IdentityError for options that can never work; `field` names the option.
 */
export const createRepoTemplate = (options: RepoTemplateOptions): DeferredNamedTemplateSpec | undefined => {
  const resolved = resolveOptions(options)
  if (resolved.getRepositoryAccess === undefined) return undefined
  return {
    resolveSpec: async (context = {}) => {
      assertSignal(context.signal)
      return (await prepareSpec(resolved, context)).spec
    },
  }
}
