import {
  createEmulator,
  type Emulator,
  type EmulatorOptions,
  type LoopbackServer,
  probeNamespaces,
} from '@warmbox/e2b-emulator'
import { E2BSandbox, type E2BSandboxOptions } from '@warmbox/sandbox'
import { http, passthrough } from 'msw'
import { network } from './network.ts'

const probe = await probeNamespaces()

/** Why this machine cannot run real processes; undefined where it can. */
export const withoutNamespaces: string | undefined = probe.available ? undefined : probe.reason

export interface EmulatedPlatform {
  readonly emulator: Emulator
  sandbox(options?: E2BSandboxOptions): E2BSandbox
  close(): Promise<void>
}

/** The emulator behind its loopback server, over which the unmodified SDK talks. */
export async function emulate(options: EmulatorOptions): Promise<EmulatedPlatform> {
  const emulator = createEmulator(options)
  const server: LoopbackServer = await emulator.listen()
  return {
    emulator,
    sandbox: (sandboxOptions = {}) => {
      network.use(http.all(`${server.url}/*`, () => passthrough()))
      return new E2BSandbox({ ...server.connection, template: 'base', ...sandboxOptions })
    },
    close: async () => {
      await server.close()
      await emulator.close()
    },
  }
}
