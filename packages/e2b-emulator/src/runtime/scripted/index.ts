import { systemClock } from '../../clock.ts'
import {
  RuntimeError,
  type ImageId,
  type Machine,
  type MachineOptions,
  type MountedImage,
  type Runtime,
} from '../port.ts'
import { baseTree } from './base-tree.ts'
import type { FileTree } from './file-tree.ts'
import { writeTree } from './inspect.ts'
import { ScriptedMachine } from './machine.ts'
import { assertScriptedOptions } from './table-checks.ts'
import type { ScriptedRuntimeOptions } from './table.ts'

export type { ScriptedCall, ScriptedCommand, ScriptedPort, ScriptedResult, ScriptedRuntimeOptions } from './table.ts'

/**
 * A runtime without processes: commands answer from a table, files live in memory. Light enough for hundreds of sandboxes.
 * Throws `INVALID_OPTION` for a row that cannot be meant, and names it. What a row's function answers is known only when
 * it is called: a wrong answer ends the command with 1, or the request with a 500, in words that name the row.
 */
export function createScriptedRuntime(options: ScriptedRuntimeOptions = {}): Runtime {
  assertScriptedOptions(options)
  const { commands = [], ports = [], unscriptedBuildSteps = 'succeed', now = () => new Date() } = options
  const images = new Map<ImageId, FileTree>()
  const machines = new Set<ScriptedMachine>()
  const mounts = new Set<MountedImage>()
  let stored = 0

  const store = (tree: FileTree): ImageId => {
    const id = `scripted-${(stored += 1)}`
    images.set(id, tree)
    return id
  }
  const find = (image: ImageId): FileTree => {
    const tree = images.get(image)
    if (tree === undefined) throw new RuntimeError('not-found', `no such image: ${image}`)
    return tree
  }

  return {
    kind: 'scripted',
    description: 'commands answer from a table and files live in memory; no process runs',
    async baseImage() {
      return store(baseTree(now()))
    },
    async createMachine(image: ImageId, machine: MachineOptions): Promise<Machine> {
      const created: ScriptedMachine = new ScriptedMachine({
        id: machine.id,
        tree: find(image).copy(),
        now,
        clock: machine.clock ?? systemClock,
        commands,
        ports,
        unscripted: machine.purpose === 'build' ? unscriptedBuildSteps : 'refuse',
        store,
        ended: () => machines.delete(created),
      })
      machines.add(created)
      return created
    },
    async deleteImage(image) {
      images.delete(image)
    },
    async inspectImage(image) {
      const mount = await writeTree(find(image))
      mounts.add(mount)
      return mount
    },
    async close() {
      await Promise.all([...machines].map((machine) => machine.destroy()))
      await Promise.all([...mounts].map((mount) => mount.release()))
      images.clear()
    },
  }
}
