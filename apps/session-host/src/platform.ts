import { createEmulator } from '@warmbox/e2b-emulator'

import type { DemoOptions } from './options.ts'

/** Where sandboxes and templates live during the walk. */
export interface Platform {
  readonly description: string
  /** What E2BSandbox and refreshRepoTemplate need to reach it. */
  readonly connection: { readonly apiKey?: string; readonly apiUrl?: string; readonly sandboxUrl?: string }
  close(): Promise<void>
}

/** E2B itself, or the emulator on a loopback port of its own. */
export async function openPlatform(
  platform: DemoOptions['platform'],
  certificateAuthority: string | undefined,
): Promise<Platform> {
  if (platform === 'e2b')
    // The SDK reads E2B_API_KEY, E2B_DOMAIN and the like from the environment.
    return { description: 'E2B', connection: {}, close: async () => {} }
  const emulator = createEmulator({
    runtime: 'auto',
    certificateAuthorities: certificateAuthority === undefined ? [] : [certificateAuthority],
  })
  try {
    const server = await emulator.listen()
    return {
      description: `the emulator (${emulator.runtime.reason})`,
      connection: server.connection,
      close: async () => {
        await server.close()
        await emulator.close()
      },
    }
  } catch (error) {
    await emulator.close()
    throw error
  }
}
