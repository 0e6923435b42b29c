import { ConnectionReset } from '../../faults.ts'
import type { ImageId, Machine } from '../../runtime/port.ts'
import { unreachable } from '../../unreachable.ts'
import { conflict } from '../api-error.ts'
import { dropImage, shareImage } from '../images.ts'
import type { Platform } from '../platform.ts'
import type { PausedPhase, RunningPhase, SandboxRecord, SettledPhase, TransitionPhase } from '../state.ts'
import { bootMachine, rebootMachine } from './boot.ts'
import { isTransition, settle, transition } from './transition.ts'

/** Why a sandbox ends. */
type EndCause = 'request' | 'timeout' | 'loss'

/** A running phase whose end is scheduled. */
export function runningPhase(
  platform: Platform,
  sandboxId: string,
  run: { readonly machine: Machine; readonly since: number; readonly endAt: number },
): RunningPhase {
  const cancelExpiry = platform.clock.schedule(
    () => platform.background(expire(platform, sandboxId)),
    Math.max(0, run.endAt - platform.clock.now()),
  )
  return { name: 'running', ...run, cancelExpiry, traffic: new AbortController() }
}

/** Moves the end of a running sandbox, no further than the plan allows. */
export function reschedule(platform: Platform, sandbox: SandboxRecord, phase: RunningPhase, endAt: number): void {
  phase.cancelExpiry()
  const latest = phase.since + platform.limits.sandboxSeconds * 1000
  const { machine, since, traffic } = phase
  sandbox.phase = {
    ...runningPhase(platform, sandbox.id, { machine, since, endAt: Math.min(endAt, latest) }),
    traffic,
  }
}

/** Ends the sandbox when its machine ends by itself. Called once for each machine that a sandbox gets. */
export function endWith(platform: Platform, sandboxId: string, machine: Machine): void {
  void machine.ended.then(() => platform.background(lose(platform, sandboxId, machine)))
}

/** The platform finds out that a machine is gone, whatever its sandbox was doing, and the sandbox is gone with it. */
async function lose(platform: Platform, sandboxId: string, machine: Machine): Promise<void> {
  const sandbox = platform.state.sandboxes.get(sandboxId)
  if (sandbox === undefined) return
  const phase = await settle(sandbox)
  if (phase.name === 'killing' || machineOf(phase) !== machine) return
  // Nobody waits to be told; what could not be removed now goes with the emulator.
  await killSandbox(platform, sandbox, 'loss').catch(() => undefined)
}

function machineOf(phase: SettledPhase): Machine | undefined {
  if (phase.name === 'running') return phase.machine
  return phase.kept.kind === 'memory' ? phase.kept.machine : undefined
}

/** What the timeout does. It waits for a transition that is under way, and finds that it came too early where the end has moved. */
async function expire(platform: Platform, sandboxId: string): Promise<void> {
  const sandbox = platform.state.sandboxes.get(sandboxId)
  if (sandbox === undefined) return
  const phase = await settle(sandbox)
  if (phase.name !== 'running') return
  if (phase.endAt > platform.clock.now()) {
    reschedule(platform, sandbox, phase, phase.endAt)
    return
  }
  const { onTimeout, keepMemory } = sandbox.lifecycle
  try {
    if (onTimeout === 'pause') await pauseSandbox(platform, sandbox, { keepMemory })
    else await killSandbox(platform, sandbox, 'timeout')
  } catch {
    // Nobody waits to be told, and a machine that can neither stop nor be copied serves nobody.
    await killSandbox(platform, sandbox, 'request').catch(() => undefined)
  }
}

/** Pauses a running sandbox; 409 in every other phase. */
export function pauseSandbox(
  platform: Platform,
  sandbox: SandboxRecord,
  options: { readonly keepMemory: boolean },
): Promise<void> {
  const { phase } = sandbox
  if (phase.name !== 'running') throw conflict(`Sandbox '${sandbox.id}' cannot be paused while it is ${phase.name}`)
  leave(phase)
  const { machine } = phase
  return transition(
    sandbox,
    'pausing',
    phase,
    async () => {
      const kept = options.keepMemory ? await freeze(machine) : await keepFiles(machine)
      // What this pause stores takes its place.
      await forgetStored(platform, sandbox)
      return { phase: { name: 'paused', pausedAt: platform.clock.now(), kept }, result: undefined }
    },
    () => runningPhase(platform, sandbox.id, phase),
  )
}

async function freeze(machine: Machine): Promise<PausedPhase['kept']> {
  await machine.pause()
  return { kind: 'memory', machine }
}

async function keepFiles(machine: Machine): Promise<PausedPhase['kept']> {
  const image = await machine.snapshot()
  await machine.destroy()
  return { kind: 'files', image }
}

/** Resumes a paused sandbox; without memory it boots from its files. */
export function resumeSandbox(
  platform: Platform,
  sandbox: SandboxRecord,
  phase: PausedPhase,
  options: { readonly timeoutSeconds: number; readonly keepMemory: boolean },
): Promise<void> {
  return transition(sandbox, 'resuming', phase, async () => {
    const machine = await wake(platform, sandbox, phase, options.keepMemory)
    if (machine !== machineOf(phase)) endWith(platform, sandbox.id, machine)
    const since = platform.clock.now()
    const endAt = since + options.timeoutSeconds * 1000
    return { phase: runningPhase(platform, sandbox.id, { machine, since, endAt }), result: undefined }
  })
}

/** The state that was paused stays stored, as the platform keeps it. */
async function wake(
  platform: Platform,
  sandbox: SandboxRecord,
  { kept, pausedAt }: PausedPhase,
  keepMemory: boolean,
): Promise<Machine> {
  const store = async (image: ImageId) => {
    await forgetStored(platform, sandbox)
    sandbox.stored = { image, storedAt: pausedAt }
  }
  switch (kept.kind) {
    case 'memory': {
      if (!keepMemory) {
        const image = await kept.machine.snapshot()
        const machine = await reboot(platform, sandbox, image)
        await store(image)
        await kept.machine.destroy()
        return machine
      }
      // Nothing but a kill by its timeout brings that state back, so others are spared the copy.
      if (sandbox.lifecycle.onTimeout === 'kill') await store(await kept.machine.snapshot())
      await kept.machine.resume()
      return kept.machine
    }
    case 'files': {
      const machine = await reboot(platform, sandbox, kept.image)
      await store(kept.image)
      return machine
    }
    case 'stored': {
      const machine = keepMemory
        ? await bootMachine(platform, sandbox.id, kept.image, sandbox.boot)
        : await reboot(platform, sandbox, kept.image)
      await store(kept.image)
      return machine
    }
    default:
      return unreachable(kept)
  }
}

/** The variables given at create are not sent again: they lived in the memory that is gone. */
async function reboot(platform: Platform, sandbox: SandboxRecord, image: ImageId): Promise<Machine> {
  const machine = await rebootMachine(platform, sandbox.id, image)
  sandbox.envs = {}
  return machine
}

/**
 * Copies the files of a running sandbox, which goes on where it was, and stores that state. 409 in every other phase.
 * The caller holds the image too, and drops it.
 */
export function checkpoint(platform: Platform, sandbox: SandboxRecord, purpose: string): Promise<ImageId> {
  const { phase } = sandbox
  if (phase.name !== 'running') throw conflict(`Sandbox '${sandbox.id}' cannot be ${purpose} while it is ${phase.name}`)
  return transition(sandbox, 'snapshotting', phase, async () => {
    const image = await phase.machine.snapshot()
    await forgetStored(platform, sandbox)
    sandbox.stored = { image, storedAt: platform.clock.now() }
    shareImage(platform.state, image)
    return { phase, result: image }
  })
}

/**
 * Ends a sandbox in any phase; look-ups do not find it from the first moment. A sandbox that its timeout or the loss of
 * its machine ended comes back as paused where a state of it is stored: only a request forgets that.
 */
export async function killSandbox(platform: Platform, sandbox: SandboxRecord, cause: EndCause): Promise<void> {
  const { phase } = sandbox
  if (phase.name !== 'killing') {
    const settled = end(platform, sandbox, phase, cause)
    sandbox.phase = { name: 'killing', settled }
    return settled
  }
  await phase.settled
  const left = platform.state.sandboxes.get(sandbox.id)
  if (cause === 'request' && left !== undefined) await killSandbox(platform, left, cause)
}

async function end(
  platform: Platform,
  sandbox: SandboxRecord,
  phase: SettledPhase | TransitionPhase,
  cause: EndCause,
): Promise<void> {
  const origin = isTransition(phase) ? phase.from : phase
  if (origin.name === 'running') leave(origin)
  try {
    await dispose(platform, isTransition(phase) ? await phase.settled : phase)
  } finally {
    platform.sandboxEnded(sandbox.id)
    const { stored } = sandbox
    if (cause !== 'request' && stored !== undefined) {
      sandbox.stored = undefined
      sandbox.phase = { name: 'paused', pausedAt: stored.storedAt, kept: { kind: 'stored', image: stored.image } }
    } else {
      platform.state.sandboxes.delete(sandbox.id)
      await forgetStored(platform, sandbox)
    }
  }
}

async function dispose(platform: Platform, phase: SettledPhase): Promise<void> {
  if (phase.name === 'running') {
    leave(phase)
    return phase.machine.destroy()
  }
  return phase.kept.kind === 'memory' ? phase.kept.machine.destroy() : dropImage(platform, phase.kept.image)
}

async function forgetStored(platform: Platform, sandbox: SandboxRecord): Promise<void> {
  const { stored } = sandbox
  sandbox.stored = undefined
  if (stored !== undefined) await dropImage(platform, stored.image)
}

/** Connections do not survive the end of a running phase. */
function leave(phase: RunningPhase): void {
  phase.cancelExpiry()
  phase.traffic.abort(new ConnectionReset('the sandbox stopped running'))
}
