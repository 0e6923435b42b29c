import { EmulatorError } from '../errors.ts'
import type { RuntimeChoice } from '../options.ts'
import type { Runtime } from './port.ts'
import { createRealRuntime } from './real/index.ts'
import { probeNamespaces } from './real/probe.ts'
import { createScriptedRuntime } from './scripted/index.ts'
import { createUnsafeHostRuntime } from './unsafe-host/index.ts'
import { unreachable } from '../unreachable.ts'

export interface SelectedRuntime {
  readonly runtime: Runtime
  /** Why this one, for a person. */
  readonly reason: string
}

export interface RuntimeSurroundings {
  readonly dataDirectory: string
  readonly certificateAuthorities: readonly string[]
  readonly now: () => Date
}

/** Turns the choice into a runtime. Processes run outside a namespace only where that was chosen by its name. */
export async function selectRuntime(choice: RuntimeChoice, around: RuntimeSurroundings): Promise<SelectedRuntime> {
  if (typeof choice === 'object') return { runtime: choice, reason: choice.description }
  switch (choice) {
    case 'scripted':
      return scripted('scripted was chosen', around)
    case 'unsafe-host': {
      const runtime = createUnsafeHostRuntime(around)
      return { runtime, reason: runtime.description }
    }
    case 'real':
    case 'auto': {
      const probe = await probeNamespaces()
      if (probe.available) return real(around)
      if (choice === 'auto') return scripted(`this machine cannot isolate processes: ${probe.reason}`, around)
      throw new EmulatorError('RUNTIME_UNAVAILABLE', `the real runtime cannot work here: ${probe.reason}`, {
        hint: 'Use the runtime "auto" to fall back to the scripted one.',
      })
    }
    default:
      return unreachable(choice)
  }
}

function scripted(why: string, { now }: RuntimeSurroundings): SelectedRuntime {
  const runtime = createScriptedRuntime({ now })
  return { runtime, reason: `${why}; ${runtime.description}` }
}

async function real(around: RuntimeSurroundings): Promise<SelectedRuntime> {
  const runtime = await createRealRuntime(around)
  return { runtime, reason: runtime.description }
}
