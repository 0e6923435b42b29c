import type { Clock } from '../clock.ts'
import { brokenConnection } from '../cut-stream.ts'
import { hasAbility, NEWEST_ENVD, type EnvdAbility } from './abilities.ts'
import { WatcherTable } from './filesystem/watcher-table.ts'
import { ProcessTable } from './process/process-table.ts'
import { ProcessorLoad } from './processor-load.ts'
import type { SandboxForEnvd } from './sandbox.ts'

/** The memory of one sandbox's envd: what it started, what it watches, and whether it still exists. */
export class EnvdSession {
  readonly #gone = new AbortController()
  readonly processes: ProcessTable
  readonly watchers: WatcherTable
  readonly processorLoad = new ProcessorLoad()
  /** As the platform described it last. */
  sandbox: SandboxForEnvd
  readonly clock: Clock

  constructor(sandbox: SandboxForEnvd, clock: Clock) {
    this.sandbox = sandbox
    this.clock = clock
    this.processes = new ProcessTable(sandbox.machine, clock)
    this.watchers = new WatcherTable(sandbox.machine.files)
  }

  /** Whether the envd of this sandbox is new enough. */
  can(ability: EnvdAbility): boolean {
    return hasAbility(this.sandbox.envdVersion ?? NEWEST_ENVD, ability)
  }

  /** Aborted when the sandbox is gone. */
  get gone(): AbortSignal {
    return this.#gone.signal
  }

  /** The sandbox was killed: everything open ends with an error. */
  end(): void {
    // Clients look for its words to ask whether the sandbox lives.
    const error = brokenConnection()
    this.#gone.abort(error)
    this.processes.drop(error)
    this.watchers.drop(error)
  }
}
