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

/** A promise and its resolution. */
function signal() {
  const resolvers: (() => void)[] = []
  const promise = new Promise<void>((resolve) => resolvers.push(resolve))
  return { promise, resolve: () => resolvers.forEach((resolve) => resolve()) }
}

/** A row that a command waits in until the test opens it. */
export function gate(match: string) {
  const opened = signal()
  const entered = signal()
  const row: ScriptedCommand = {
    match,
    answer: async () => {
      entered.resolve()
      await opened.promise
      return {}
    },
  }
  return { row, open: opened.resolve, entered: entered.promise }
}

/** Asks until the answer is there; for outcomes that arrive on their own. */
export async function eventually<T>(ask: () => Promise<T | undefined> | T | undefined): Promise<T> {
  for (;;) {
    const answer = await ask()
    if (answer !== undefined) return answer
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
