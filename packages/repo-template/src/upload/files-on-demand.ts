import type { TemplateBuilder } from 'e2b'
import { RepoTemplateError } from '../errors.ts'

/** Makes the files of a builder's COPY steps; resolves with what removes them. */
export type MakeFiles = (signal: AbortSignal | undefined) => Promise<() => Promise<void>>

/**
 * Lets a builder make the files it copies when a build of it is requested, and only then: most sessions boot a build
 * there is already. The SDK offers nothing to hook into, but every `Template.build*` hands over to the builder's own
 * `build`, which asks for the build, uploads and starts it; the files live exactly that long.
 *
 * @throws RepoTemplateError `UPLOAD_UNSUPPORTED` for a builder without it.
 */
export const withFilesOnDemand = (builder: TemplateBuilder, make: MakeFiles): TemplateBuilder => {
  const build: unknown = Reflect.get(builder, 'build')
  if (typeof build !== 'function') {
    throw new RepoTemplateError({
      code: 'UPLOAD_UNSUPPORTED',
      field: 'source',
      message: 'This version of the e2b SDK does not let files be made when a build begins',
      hint: "Use source: 'clone', or a version of e2b this package names as its peer.",
    })
  }
  return Object.defineProperty(builder, 'build', {
    value: async (...given: readonly unknown[]): Promise<unknown> => {
      const remove = await make(signalIn(given))
      try {
        const requested: unknown = await Reflect.apply(build, builder, given)
        return requested
      } finally {
        await remove()
      }
    },
  })
}

/** Among the options a build was called with. */
const signalIn = (given: readonly unknown[]): AbortSignal | undefined => {
  for (const argument of given) {
    if (typeof argument === 'object' && argument !== null && 'signal' in argument) {
      return argument.signal instanceof AbortSignal ? argument.signal : undefined
    }
  }
  return undefined
}
