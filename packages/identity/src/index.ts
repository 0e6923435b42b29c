export { isWarmboxError, WarmboxError, type WarmboxErrorOptions } from './errors.ts'
export { IdentityError, type IdentityErrorCode, type IdentityErrorOptions } from './identity-error.ts'
export {
  DEFAULT_APT_PACKAGES,
  DEFAULT_CPU_COUNT,
  DEFAULT_MEMORY_MB,
  DEFAULT_NODE_VERSION,
  IDENTITY_SCHEME,
  MOUNTABLE_TEMPLATE_VERSION,
} from './constants.ts'
export { type CloneUrl, parseCloneUrl } from './clone-url.ts'
export { assertTag, formatTemplateRef, parseTemplateRef, type TemplateRef } from './template-ref.ts'
export { assertSha } from './input.ts'
export { type Resources, resolveResources } from './resources.ts'
export { digestText } from './digest.ts'
export type { BuildEnvValue, RepoTemplateIdentity } from './repo-identity.ts'
export { canonicalText, repoTemplateName, type RepoTemplateNameOptions, repoTemplateRef } from './repo-template-name.ts'
export { type MountableTemplateIdentity, mountableTemplateId, mountableTemplateText } from './mountable-template.ts'
export { type ContentTemplateIdentity, contentTemplateName, contentTemplateText } from './content-template.ts'
export { explainIdentity, type IdentityDifference } from './explain.ts'
