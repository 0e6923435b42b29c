/** Where one mount keeps what belongs to it, and whose files the mounted ones appear to be. */
export interface MountSite {
  readonly mountPath: string
  readonly credentialsFile: string
  readonly cacheDirectory: string
  readonly logFile: string
  readonly uid: number
  readonly gid: number
}

/** How one file system is mounted. Nothing in it is quoted yet. */
export interface MountPlan {
  /** What is mounted, for messages. */
  readonly source: string
  readonly program: string
  /** Shell script that installs the program on Debian and Ubuntu, run as root. */
  readonly installation: string
  /** The mount command; it returns once the mount is there or has failed. */
  command(site: MountSite): readonly string[]
  /** Content of the one file that holds the credentials. Undefined where there are none. */
  readonly credentials: ((site: MountSite) => string) | undefined
  /** What must not show in anything reported. */
  readonly secrets: readonly string[]
}

/** apt-get without questions, waiting for another run of it. */
export const APT_INSTALL =
  'DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=300'
