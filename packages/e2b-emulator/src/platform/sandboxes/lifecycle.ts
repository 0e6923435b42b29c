import { restartInSandbox } from '../../build/start-command.ts'
import { createBuildLog } from '../../build/build-log.ts'
import type { ImageId, Machine } from '../../runtime/port.ts'
import { ConnectionReset } from '../../faults.ts'
import { conflict } from '../api-error.ts'
import type { Platform } from '../platform.ts'
import type { BuildArtifact, BuildRecord, PausedPhase, RunningPhase, SandboxRecord } from '../state.ts'

/** A machine for a new sandbox, with the template's start command running. */
export async function bootMachine(
  platform: Platform,
  sandboxId: string,
  build: BuildRecord,
  artifact: BuildArtifact,
): Promise<Machine> {
  const machine = await createMachine(platform, sandboxId, artifact.image)
  if (artifact.startCommand === undefined) return machine
  try {
    // Its output belongs to nobody: the build's log is complete.
    const log = createBuildLog({ ...build, logs: [] }, platform.clock)
    const { signal } = new AbortController()
    await restartInSandbox({ machine, clock: platform.clock, log, signal }, artifact)
    return machine
  } catch (error) {
    await machine.destroy()
    throw error
  }
}

const createMachine = async (platform: Platform, sandboxId: string, image: ImageId): Promise<Machine> =>
  (await platform.runtime()).createMachine(image, { id: sandboxId, hostname: 'e2b', purpose: 'sandbox' })

/** A running phase whose end is scheduled. */
export function runningPhase(platform: Platform, sandboxId: string, machine: Machine, endAt: number): RunningPhase {
  const cancelExpiry = platform.clock.schedule(
    () => platform.background(expire(platform, sandboxId)),
    Math.max(0, endAt - platform.clock.now()),
  )
  return { name: 'running', machine, endAt, cancelExpiry, traffic: new AbortController() }
}

/** Moves the end of a running sandbox. */
export function reschedule(platform: Platform, sandbox: SandboxRecord, phase: RunningPhase, endAt: number): void {
  phase.cancelExpiry()
  const { traffic } = phase
  sandbox.phase = { ...runningPhase(platform, sandbox.id, phase.machine, endAt), traffic }
}

async function expire(platform: Platform, sandboxId: string): Promise<void> {
  const sandbox = platform.state.sandboxes.get(sandboxId)
  if (sandbox?.phase.name !== 'running') return
  const { onTimeout, keepMemory } = sandbox.lifecycle
  switch (onTimeout) {
    case 'kill':
      return killSandbox(platform, sandbox)
    case 'pause':
      return pauseSandbox(platform, sandbox, { keepMemory })
  }
}

/** Pauses a running sandbox; 409 in every other phase. */
export function pauseSandbox(
  platform: Platform,
  sandbox: SandboxRecord,
  options: { keepMemory: boolean },
): Promise<void> {
  const { phase } = sandbox
  if (phase.name !== 'running') throw conflict(`Sandbox '${sandbox.id}' is not running`)
  leave(phase)
  const settled = (async () => {
    await phase.machine.pause()
    const kept = options.keepMemory ? { machine: phase.machine } : { image: await dropMemory(phase.machine) }
    sandbox.phase = { name: 'paused', pausedAt: platform.clock.now(), kept }
  })()
  sandbox.phase = { name: 'pausing', settled }
  return settled
}

async function dropMemory(machine: Machine): Promise<ImageId> {
  const image = await machine.snapshot()
  await machine.destroy()
  return image
}

/** Resumes a paused sandbox; without memory it boots from its files. */
export function resumeSandbox(
  platform: Platform,
  sandbox: SandboxRecord,
  phase: PausedPhase,
  options: { endAt: number; keepMemory: boolean },
): Promise<void> {
  const settled = (async () => {
    try {
      const machine = await wake(platform, sandbox, phase, options.keepMemory)
      sandbox.phase = runningPhase(platform, sandbox.id, machine, options.endAt)
    } catch (error) {
      sandbox.phase = phase
      throw error
    }
  })()
  sandbox.phase = { name: 'resuming', settled }
  return settled
}

async function wake(
  platform: Platform,
  sandbox: SandboxRecord,
  phase: PausedPhase,
  keepMemory: boolean,
): Promise<Machine> {
  const { kept } = phase
  if ('image' in kept) return createMachine(platform, sandbox.id, kept.image)
  if (!keepMemory) return createMachine(platform, sandbox.id, await dropMemory(kept.machine))
  await kept.machine.resume()
  return kept.machine
}

/** Ends a sandbox in any phase. It is gone for every other call from the first moment. */
export async function killSandbox(platform: Platform, sandbox: SandboxRecord): Promise<void> {
  platform.state.sandboxes.delete(sandbox.id)
  await settle(sandbox)
  const { phase } = sandbox
  if (phase.name === 'running') leave(phase)
  platform.sandboxEnded(sandbox.id)
  switch (phase.name) {
    case 'running':
      return phase.machine.destroy()
    case 'paused':
      return 'machine' in phase.kept
        ? phase.kept.machine.destroy()
        : (await platform.runtime()).deleteImage(phase.kept.image)
    case 'pausing':
    case 'resuming':
      throw new Error('a settled sandbox is in no transition')
  }
}

/** Waits until no transition is under way; how it ended shows in the phase. */
export async function settle(sandbox: SandboxRecord): Promise<void> {
  while (sandbox.phase.name === 'pausing' || sandbox.phase.name === 'resuming') {
    await Promise.allSettled([sandbox.phase.settled])
  }
}

/** Connections do not survive the end of a running phase. */
function leave(phase: RunningPhase): void {
  phase.cancelExpiry()
  phase.traffic.abort(new ConnectionReset('the sandbox stopped running'))
}
