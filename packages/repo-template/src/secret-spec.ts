import type { NamedTemplateSpec } from '@warmbox/resolution'

/** What of a spec may be shown: the builder holds ENV steps, and those hold the credential. */
const shown = ({ ref, staleRef, buildRef, buildTags, buildResources, refused }: NamedTemplateSpec): object => ({
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
export const secretSpec = (spec: NamedTemplateSpec, secrets: readonly string[]): NamedTemplateSpec =>
  Object.defineProperties(spec, {
    redact: { value: Object.freeze([...secrets]) },
    toJSON: { value: () => shown(spec) },
    [Symbol.for('nodejs.util.inspect.custom')]: { value: () => shown(spec) },
  })
