import { ApiClient, ConnectionConfig } from 'e2b'
import { onTestFinished } from 'vitest'
import {
  createEmulator,
  createScriptedRuntime,
  type Emulator,
  type EmulatorConnection,
  type EmulatorOptions,
  type ScriptedCommand,
} from '@warmbox/e2b-emulator'

export interface Running {
  readonly emulator: Emulator
  /** Options for the SDK. */
  readonly connection: EmulatorConnection
  /** The SDK's own typed client, for calls its classes do not make or whose status they hide. */
  readonly api: ApiClient['api']
}

/** An emulator on loopback, closed when the test is over. Scripted unless told otherwise. */
export async function startEmulator(
  options: EmulatorOptions & { readonly commands?: readonly ScriptedCommand[] } = {},
): Promise<Running> {
  const { commands = [], ...rest } = options
  const emulator = createEmulator({ runtime: createScriptedRuntime({ commands }), ...rest })
  onTestFinished(() => emulator.close())
  const { connection } = await emulator.listen()
  return { emulator, connection, api: new ApiClient(new ConnectionConfig(connection)).api }
}

/** A row that a build step waits in until the test opens it. */
export function gate(match: string) {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  let enter = () => {}
  const entered = new Promise<void>((resolve) => {
    enter = resolve
  })
  const row: ScriptedCommand = {
    match,
    answer: async () => {
      enter()
      await opened
      return {}
    },
  }
  return { row, open: () => open(), entered }
}

/** Asks until the answer is there; for outcomes that arrive on their own. */
export async function eventually<T>(ask: () => Promise<T | undefined> | T | undefined): Promise<T> {
  for (;;) {
    const answer = await ask()
    if (answer !== undefined) return answer
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
