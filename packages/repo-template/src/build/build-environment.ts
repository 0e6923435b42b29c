import type { BuildEnvValue } from '@warmbox/identity'
import { type Credential, toBase64 } from '../credential.ts'

/** Holds the credential of the clone while it is needed. */
export const CREDENTIAL_VARIABLE = 'WARMBOX_GIT_CREDENTIAL'
const prefix = 'WARMBOX_ENV_'

/** Values without their versions. */
export const plainValues = (buildEnv: Readonly<Record<string, BuildEnvValue>>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(buildEnv).map(([name, value]) => [name, typeof value === 'string' ? value : value.value]),
  )

/**
 * Build variables as ENV steps. E2B expands `$NAME` in the value of an ENV step, and a build must see `pa$$word` as it
 * was given; base64 has nothing to expand, quote or break a line at. They have names of their own, so that blanking
 * them at the end cannot take the image's own `PATH` away.
 */
export const environmentSteps = (values: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [`${prefix}${name}`, toBase64(value)]))

/** The credential as an ENV step, in base64, which E2B has nothing to expand in. */
export const credentialStep = (credential: Credential | undefined): Record<string, string> =>
  credential === undefined ? {} : { [CREDENTIAL_VARIABLE]: credential.encoded }

/**
 * Lines that give a step the build variables. Decoded first and exported after, so that a `PATH` among them changes
 * nothing half-way; the dot keeps line feeds at a value's end, which `$( )` would drop.
 */
export const exportLines = (names: readonly string[]): readonly string[] => [
  ...names.map((name) => `warmbox_${name}="$(printf %s "\${${prefix}${name}-}" | base64 -d; printf .)"`),
  ...names.map((name) => `export ${name}="\${warmbox_${name}%.}"`),
]

/** The same variables, emptied: a child template and a start command inherit what ENV steps say. */
export const blanked = (steps: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.keys(steps).map((name) => [name, '']))
