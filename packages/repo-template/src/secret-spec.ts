import type { NamedTemplateSpec } from '@warmbox/resolution'

/** What this package makes. */
export interface RepoTemplateSpec extends NamedTemplateSpec {
  /**
   * Where `ref` is missing, the build is looked up and made under this ref in its place. Of an unreachable head: `ref` is
   * what is booted, and what an unknown commit is built as must never carry its tag.
   */
  buildRef?: string
}

/** What of a spec may be shown: the builder holds ENV steps, and those hold the credential. */
const shown = ({ ref, staleRef, buildRef, buildTags, buildResources, refused }: RepoTemplateSpec): object => ({
  ref,
  ...(staleRef === undefined ? {} : { staleRef }),
  ...(buildRef === undefined ? {} : { buildRef }),
  ...(buildTags === undefined ? {} : { buildTags }),
  ...(buildResources === undefined ? {} : { buildResources }),
  ...(refused === undefined ? {} : { refused }),
})

/**
 * Adds the secrets of a spec where neither `JSON.stringify`, a spread nor a logger finds them. The symbol is Node's
 * `util.inspect.custom`, which `console.log` and error reporters ask.
 */
export const secretSpec = (spec: RepoTemplateSpec, secrets: readonly string[]): RepoTemplateSpec =>
  Object.defineProperties(spec, {
    redact: { value: Object.freeze([...secrets]) },
    toJSON: { value: () => shown(spec) },
    [Symbol.for('nodejs.util.inspect.custom')]: { value: () => shown(spec) },
  })
