import { writeText } from './canonical-text.ts'
import { DEFAULT_APT_PACKAGES, DEFAULT_NODE_VERSION, MOUNTABLE_TEMPLATE_VERSION } from './constants.ts'
import { nameHash } from './digest.ts'
import { refuse } from './identity-error.ts'
import { bounded, byCodeUnit, list, nothingElse, record } from './input.ts'
import { NAME_LENGTH } from './limits.ts'
import { type Resources, sizeOf } from './resources.ts'

/** The inputs that decide the default mountable template. Absent and default are the same. */
export interface MountableTemplateIdentity {
  /** Exact Node.js release, `MAJOR.MINOR.PATCH`. Default {@link DEFAULT_NODE_VERSION}. */
  nodeVersion?: string | undefined
  /** vCPUs. Default 2. */
  cpuCount?: number | undefined
  /** Memory in MiB. Default 1024. */
  memoryMB?: number | undefined
  /** Debian packages; order and repetition do not count. Default {@link DEFAULT_APT_PACKAGES}. */
  aptPackages?: readonly string[] | undefined
}

const exactVersion = /^(?:(?:0|[1-9][0-9]{0,4})\.){2}(?:0|[1-9][0-9]{0,4})$/
const aptPackage = /^[a-z0-9][a-z0-9+.-]+(?:=[A-Za-z0-9.+~:-]+)?$/

/**
 * The default mountable template's name, `mastra-<hash>`. It has no tag; E2B calls take `<id>:default`.
 *
 * @throws IdentityError for any input that is refused; `field` says which.
 */
export function mountableTemplateId(identity: MountableTemplateIdentity = {}): string {
  return `mastra-${nameHash(mountableTemplateText(identity))}`
}

/** The text {@link mountableTemplateId} is a hash of; SCHEME.md describes it to the byte. */
export function mountableTemplateText(identity: MountableTemplateIdentity = {}): string {
  record(identity, 'identity')
  const {
    nodeVersion = DEFAULT_NODE_VERSION,
    aptPackages = DEFAULT_APT_PACKAGES,
    cpuCount,
    memoryMB,
    ...rest
  } = identity
  nothingElse(rest, 'identity')
  if (typeof nodeVersion !== 'string' || !exactVersion.test(nodeVersion)) {
    refuse('NODE_VERSION_INVALID', 'nodeVersion', 'is not an exact release', 'Write it like 24.20.0.')
  }
  const packages = new Set(list(aptPackages, 'aptPackages').map(debianPackage))
  return textOf(nodeVersion, sizeOf(cpuCount, memoryMB), [...packages].toSorted(byCodeUnit))
}

/** The id of the default mountable template at a size that was checked already. */
export const defaultMountableTemplateId = (size: Resources): string =>
  `mastra-${nameHash(textOf(DEFAULT_NODE_VERSION, size, DEFAULT_APT_PACKAGES))}`

const textOf = (nodeVersion: string, { cpuCount, memoryMB }: Resources, aptPackages: readonly string[]): string =>
  writeText('mountable', [
    ['version', MOUNTABLE_TEMPLATE_VERSION],
    ['nodeVersion', nodeVersion],
    ['cpuCount', `${cpuCount}`],
    ['memoryMB', `${memoryMB}`],
    ...aptPackages.map((name) => ['aptPackage', name] as const),
  ])

const debianPackage = (value: unknown): string => {
  const name = bounded(value, 'aptPackages', NAME_LENGTH)
  if (!aptPackage.test(name)) {
    refuse('APT_PACKAGE_INVALID', 'aptPackages', 'names no Debian package', 'Write name or name=version.')
  }
  return name
}
