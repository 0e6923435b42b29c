import { Template, type components, type TemplateBuilder } from 'e2b'
import { ResolutionError } from './errors.ts'

/** The body that starts a build, as the SDK writes it. COPY steps carry no file hashes here. */
export type BuildBody = components['schemas']['TemplateBuildStartV2']

/** What a builder will ask the platform to do. Reads no file. */
export async function buildBodyOf(template: TemplateBuilder): Promise<BuildBody> {
  // The SDK serialises exactly this schema; it offers the text only.
  const body: BuildBody = JSON.parse(await Template.toJSON(template, false))
  return body
}

/** COPY steps need files of this machine, hence an upload before the build can start. */
export const copiesFiles = (body: BuildBody): boolean => (body.steps ?? []).some((step) => step.type === 'COPY')

/** The whole content of a builder as text, hashes of its COPY sources included. Holds ENV values: never show it. */
export const contentTextOf = (template: TemplateBuilder): Promise<string> => Template.toJSON(template, true)

/** Whether a builder has a `build` of its own, which may make the files that its COPY steps read. */
export const makesFiles = (template: TemplateBuilder): boolean => Object.hasOwn(template, 'build')

/**
 * Reads the files of COPY steps, as naming and uploading them do.
 * @throws ResolutionError `INVALID_SPEC` where one cannot be found or read
 */
export async function assertSources(what: string, template: TemplateBuilder): Promise<void> {
  await readContent(`The template of '${what}'`, template)
}

/** {@link contentTextOf}, for a builder that a caller wrote. @throws ResolutionError `INVALID_SPEC` */
export async function readContent(what: string, template: TemplateBuilder): Promise<string> {
  try {
    return await contentTextOf(template)
  } catch (cause) {
    // The SDK's words name the path, which is the caller's own.
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new ResolutionError({
      code: 'INVALID_SPEC',
      message: `${what} cannot be read: ${why}`,
      hint: 'Check that the sources of its COPY steps exist; they are looked up from fileContextPath on',
      cause,
    })
  }
}
