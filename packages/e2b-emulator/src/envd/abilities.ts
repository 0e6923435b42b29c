/** A version of envd, as `createEmulator({ envdVersion })` takes it. */
export type EnvdVersion = `${number}.${number}.${number}`

/** The envd whose behaviour is emulated where no other is asked for; the SDK switches features by it. */
export const NEWEST_ENVD: EnvdVersion = '0.6.13'

/** What came to envd and to the platform around it with which version, as far as the SDK or the platform asks for it. */
const since = {
  /** `GET /metrics`. */
  metrics: '0.1.5',
  /** Watching what lies below. */
  recursiveWatch: '0.1.4',
  /** An access token of its own. */
  secured: '0.2.0',
  /** The disk in `GET /metrics`. */
  diskMetrics: '0.2.4',
  /** Starting a process without input. */
  noStdin: '0.3.0',
  /** A user where a call names none. */
  defaultUser: '0.4.0',
  /** Snapshots and forks. */
  snapshots: '0.5.0',
  closeStdin: '0.5.2',
  /** Uploads of plain bytes. */
  octetStream: '0.5.7',
  /** Metadata of files. */
  metadata: '0.6.2',
  /** The entry in an event of a watch. */
  eventEntry: '0.6.3',
} as const satisfies Readonly<Record<string, EnvdVersion>>

export type EnvdAbility = keyof typeof since

export function hasAbility(version: EnvdVersion, ability: EnvdAbility): boolean {
  return isAtLeast(version, since[ability])
}

export function isEnvdVersion(text: string): text is EnvdVersion {
  return /^\d+\.\d+\.\d+$/.test(text)
}

export function isAtLeast(version: EnvdVersion, other: EnvdVersion): boolean {
  const [left, right] = [version, other].map((text) => text.split('.').map(Number))
  for (const index of [0, 1, 2]) {
    const difference = (left?.[index] ?? 0) - (right?.[index] ?? 0)
    if (difference !== 0) return difference > 0
  }
  return true
}
