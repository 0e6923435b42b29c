import { createScriptedRuntime, type ScriptedCommand } from '../../../src/runtime/scripted/index.ts'
import type { Machine, MachineProcess, SpawnOptions } from '../../../src/runtime/port.ts'

/** A machine whose files are those of the scripted runtime; `processes` plays commands that need a real port. */
export async function createTestMachine(options: {
  readonly commands?: readonly ScriptedCommand[]
  /** By the text given to `bash -c`. */
  readonly processes?: Readonly<Record<string, (options: SpawnOptions) => MachineProcess>>
}): Promise<Machine & { readonly spawned: SpawnOptions[] }> {
  const runtime = createScriptedRuntime({ commands: options.commands ?? [] })
  const machine = await runtime.createMachine(await runtime.baseImage('debian'), { id: 'machine-1', hostname: 'host' })
  const spawned: SpawnOptions[] = []
  return {
    id: machine.id,
    confined: machine.confined,
    spawned,
    files: machine.files,
    async spawn(call) {
      const process = options.processes?.[call.args.at(-1) ?? '']?.(call)
      const started = process ?? (await machine.spawn(call))
      spawned.push(call)
      return started
    },
    pause: () => machine.pause(),
    resume: () => machine.resume(),
    snapshot: () => machine.snapshot(),
    destroy: () => machine.destroy(),
    ended: machine.ended,
    connect: (port) => machine.connect(port),
    usage: () => machine.usage(),
  }
}
