import { header, line } from './canonical-text.ts'
import { DEFAULT_APT_PACKAGES, DEFAULT_NODE_VERSION, MOUNTABLE_TEMPLATE_VERSION } from './constants.ts'
import { nameHash } from './digest.ts'
import { IdentityError } from './identity-error.ts'
import { LIMITS } from './limits.ts'
import { resolveResources } from './resources.ts'
import { assertBounded, assertCount, assertKnownFields, assertRecord, byCodeUnit } from './text.ts'

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

const knownFields: ReadonlySet<string> = new Set<keyof MountableTemplateIdentity>([
  'nodeVersion',
  'cpuCount',
  'memoryMB',
  'aptPackages',
])

const exactVersion = /^(?:0|[1-9][0-9]{0,4})\.(?:0|[1-9][0-9]{0,4})\.(?:0|[1-9][0-9]{0,4})$/
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
  assertRecord(identity, 'identity')
  assertKnownFields(identity, knownFields, 'identity')
  const { cpuCount, memoryMB } = resolveResources(identity)
  let text =
    header('mountable') +
    line('version', MOUNTABLE_TEMPLATE_VERSION) +
    line('nodeVersion', resolveNodeVersion(identity.nodeVersion)) +
    line('cpuCount', String(cpuCount)) +
    line('memoryMB', String(memoryMB))
  for (const name of resolveAptPackages(identity.aptPackages)) text += line('aptPackage', name)
  return text
}

const resolveNodeVersion = (nodeVersion: unknown = DEFAULT_NODE_VERSION): string => {
  if (typeof nodeVersion === 'string' && exactVersion.test(nodeVersion)) return nodeVersion
  throw new IdentityError({
    code: 'NODE_VERSION_INVALID',
    field: 'nodeVersion',
    message: 'nodeVersion is not an exact release',
    hint: `Write MAJOR.MINOR.PATCH, like ${DEFAULT_NODE_VERSION}; a range or alias would let the contents drift under one name.`,
  })
}

const resolveAptPackages = (aptPackages: unknown = DEFAULT_APT_PACKAGES): readonly string[] => {
  if (!Array.isArray(aptPackages)) {
    throw new IdentityError({ code: 'INPUT_TYPE', field: 'aptPackages', message: 'aptPackages must be a list' })
  }
  const given: readonly unknown[] = aptPackages
  assertCount(given.length, 'aptPackages', LIMITS.aptPackages)
  const names = new Set<string>()
  for (const name of given) {
    assertBounded(name, 'aptPackages', LIMITS.aptPackage)
    if (!aptPackage.test(name)) {
      throw new IdentityError({
        code: 'APT_PACKAGE_INVALID',
        field: 'aptPackages',
        message: 'aptPackages has an entry that is no Debian package',
        hint: 'Write a package name, or name=version.',
      })
    }
    names.add(name)
  }
  return [...names].toSorted(byCodeUnit)
}
