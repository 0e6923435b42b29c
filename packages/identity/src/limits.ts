/**
 * The most an identity may hold. Lengths are UTF-16 code units. They are far above real use and keep one name
 * affordable to compute whatever a caller passes in.
 */
export const LIMITS = Object.freeze({
  /** Characters of a clone URL. */
  cloneUrl: 2048,
  /** Commands of a setup, blank ones counted. */
  setupCommands: 256,
  /** Characters of one setup command. */
  setupCommand: 32_768,
  /** Entries of `buildEnv`. */
  buildEnvEntries: 256,
  /** Characters of a build variable's name. */
  buildEnvName: 256,
  /** Characters of a build variable's value. */
  buildEnvValue: 32_768,
  /** Characters of a build variable's version. */
  buildEnvVersion: 256,
  /** Entries of `extra`. */
  extraEntries: 256,
  /** Characters of a key in `extra`. */
  extraKey: 256,
  /** Characters of a value in `extra`. */
  extraValue: 32_768,
  /** Characters of `salt`. */
  salt: 1024,
  /** Characters of a working directory. */
  workingDirectory: 1024,
  /** Characters of a namespace, a name or a tag of a template ref. */
  refPart: 128,
  /** Most vCPUs E2B builds a template with. */
  cpuCount: 32,
  /** Fewest MiB of memory E2B builds a template with. */
  memoryMBMinimum: 128,
  /** Most MiB of memory accepted: one TiB. */
  memoryMB: 1_048_576,
  /** Debian packages of a mountable template. */
  aptPackages: 256,
  /** Characters of one Debian package, its version pin included. */
  aptPackage: 256,
  /** Characters of a serialised template. */
  template: 4_194_304,
})
