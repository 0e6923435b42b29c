import { expect } from 'vitest'
import { probeNamespaces } from '@warmbox/e2b-emulator'
import { accountSeen } from './account.ts'

interface KindOfRuntime {
  readonly runtime: 'scripted' | 'real' | 'unsafe-host'
  /** Its name, with the reason where it cannot be had here. */
  readonly title: string
  readonly unavailable: boolean
  /** What `toEqual` is to find as the owner of a file that was given to a user. */
  readonly seen: (name: string) => unknown
}

const namespaces = await probeNamespaces()
const isRoot = process.getuid?.() === 0

/** Every runtime, for what all of them must do alike. */
export const runtimes: readonly KindOfRuntime[] = [
  { runtime: 'scripted', title: 'scripted', unavailable: false, seen: (name) => name },
  {
    runtime: 'real',
    title: namespaces.available ? 'real' : `real (skipped: ${namespaces.reason})`,
    unavailable: !namespaces.available,
    seen: accountSeen,
  },
  {
    runtime: 'unsafe-host',
    title: isRoot ? 'unsafe-host (skipped for root, who is refused)' : 'unsafe-host',
    unavailable: isRoot,
    // One account of the host stands for all, by whatever name its number has inside.
    seen: () => expect.any(String),
  },
]
