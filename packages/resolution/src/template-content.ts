import { Template, type components, type TemplateBuilder } from 'e2b'

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
