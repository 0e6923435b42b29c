import { type BuildEnvValue, repoTemplateName, type RepoTemplateIdentity } from '@warmbox/identity'
import type { TemplateBuilder } from 'e2b'
import { type Base, prepareBase } from './build/base.ts'
import { abortable } from './deadline.ts'
import type { RepoTemplateErrorCode } from './errors.ts'
import { assertBuildEnvNames, type ResolvedOptions } from './options.ts'
import { ownPath } from './own-directory.ts'

/** Why a resolution has nothing of the repository to offer. */
export interface Refusal {
  readonly code: RepoTemplateErrorCode
  readonly message: string
  readonly cause: unknown
}

/** What decides the image beside the commit. Known without asking the repository's host. */
export type ImageInputs = {
  readonly identity: RepoTemplateIdentity & { readonly buildEnv: Readonly<Record<string, BuildEnvValue>> }
  readonly name: string
} & (
  | { readonly status: 'failed'; readonly failure: Refusal }
  | {
      readonly status: 'ready'
      readonly base: TemplateBuilder
      /** With `source: 'upload'`: a directory that is not there yet, for what is copied. */
      readonly uploadDirectory: string | undefined
    }
)

/** Asks the caller's functions for build variables and base. Rejects for malformed input and an aborted signal. */
export const gatherImageInputs = async (
  options: ResolvedOptions,
  cloneUrl: string,
  signal: AbortSignal | undefined,
): Promise<ImageInputs> => {
  const uploadDirectory = options.source === 'upload' ? await ownPath('upload') : undefined
  const [buildEnv, base] = await Promise.all([
    readBuildEnvironment(options, signal),
    readBase(options, uploadDirectory),
  ])
  const identity = {
    ...options.identity,
    cloneUrl,
    buildEnv: 'failure' in buildEnv ? {} : buildEnv.value,
    ...('failure' in base ? {} : { baseTemplateId: base.value.id }),
  }
  const name = repoTemplateName(identity, options.naming)
  if ('failure' in buildEnv) return { status: 'failed', identity, name, failure: buildEnv.failure }
  if ('failure' in base) return { status: 'failed', identity, name, failure: base.failure }
  return { status: 'ready', identity, name, base: base.value.builder, uploadDirectory }
}

type Answer<T> = { readonly value: T } | { readonly failure: Refusal }

const readBuildEnvironment = async (
  options: ResolvedOptions,
  signal: AbortSignal | undefined,
): Promise<Answer<Readonly<Record<string, BuildEnvValue>>>> => {
  let value: Readonly<Record<string, BuildEnvValue>>
  try {
    // The function may throw before it has a promise.
    value = await abortable((async () => options.buildEnv())(), signal)
  } catch (cause) {
    if (signal?.aborted === true) throw signal.reason
    // Without its variables the build would make another image under the same name.
    return { failure: { code: 'BUILD_ENV_FAILED', message: 'The buildEnv function rejected', cause } }
  }
  assertBuildEnvNames(value)
  return { value }
}

const readBase = async (options: ResolvedOptions, context: string | undefined): Promise<Answer<Base>> => {
  try {
    return { value: await prepareBase({ ...options, customize: options.base, context }) }
  } catch (cause) {
    const message = 'The base function threw, answered no template builder, or copies files that are not there'
    return { failure: { code: 'BASE_FAILED', message, cause } }
  }
}
