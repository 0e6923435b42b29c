/** The version of the canonical text written by this package. It stands inside the text, so a new scheme renames everything. */
export const IDENTITY_SCHEME = 1

/** vCPUs of a template that asks for none: E2B's own build default, written out so that a drifting default renames. */
export const DEFAULT_CPU_COUNT = 2

/** Memory in MiB of a template that asks for none: E2B's own build default. */
export const DEFAULT_MEMORY_MB = 1024

/** The exact Node.js release the default mountable template installs. Each bump builds new templates. */
export const DEFAULT_NODE_VERSION = '24.20.0'

/** Debian packages the default mountable template installs; what mounting buckets needs. */
export const DEFAULT_APT_PACKAGES: readonly string[] = ['fuse', 's3fs']

/** Version of the default mountable template's build steps; bumped when the same inputs install something else. */
export const MOUNTABLE_TEMPLATE_VERSION = 'v3'

/** Where a checkout lies when no working directory is given: `<home>/<repository directory>`. */
export const SANDBOX_HOME = '/home/user'
