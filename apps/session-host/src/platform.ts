import { createEmulator, createScriptedRuntime, probeNamespaces } from '@warmbox/e2b-emulator'

import type { DemoOptions } from './options.ts'
import { scriptedAnswers } from './scripted-answers.ts'

/** Where sandboxes and templates live during the walk. */
export interface Platform {
  readonly name: string
  /** What a person may want to know of it, a line each. */
  readonly particulars: readonly string[]
  /** What E2BSandbox and refreshRepoTemplate need to reach it. */
  readonly connection: { readonly apiKey?: string; readonly apiUrl?: string; readonly sandboxUrl?: string }
  close(): Promise<void>
}

export interface PlatformOptions {
  /** PEM the machines trust besides the public authorities. */
  readonly certificateAuthority: string | undefined
  /** Absolute path of the checkout in a machine. */
  readonly checkout: string
}

export type PlatformKind =
  | { readonly name: 'e2b' }
  | { readonly name: 'emulator' }
  /** The emulator without processes, and why. */
  | { readonly name: 'scripted'; readonly reason: string }

/** What the walk can run on here. */
export async function choosePlatform(wanted: DemoOptions['platform']): Promise<PlatformKind> {
  switch (wanted) {
    case 'e2b':
      return { name: 'e2b' }
    case 'scripted':
      return { name: 'scripted', reason: 'asked for by --scripted' }
    case 'emulator': {
      const probe = await probeNamespaces()
      return probe.available ? { name: 'emulator' } : { name: 'scripted', reason: probe.reason }
    }
  }
}

/** E2B itself, or the emulator on a loopback port of its own. */
export async function openPlatform(kind: PlatformKind, options: PlatformOptions): Promise<Platform> {
  if (kind.name === 'e2b') {
    // The SDK reads E2B_API_KEY, E2B_DOMAIN and the like from the environment.
    return { name: 'E2B', particulars: [], connection: {}, close: async () => {} }
  }
  const emulator = createEmulator({
    runtime: kind.name === 'scripted' ? createScriptedRuntime({ commands: scriptedAnswers(options.checkout) }) : 'real',
    certificateAuthorities: options.certificateAuthority === undefined ? [] : [options.certificateAuthority],
  })
  try {
    const server = await emulator.listen()
    return {
      name: 'the emulator of this repository',
      particulars: emulator.runtime.reason.split('; '),
      connection: server.connection,
      close: () => emulator.close(),
    }
  } catch (error) {
    await emulator.close()
    throw error
  }
}
