import { onTestFinished } from 'vitest'
import { createScriptedRuntime, type Machine, type RuntimePort } from '@warmbox/e2b-emulator'
import { deferred } from './deferred.ts'

type Step = 'pause' | 'resume' | 'snapshot' | 'destroy'

interface Hold {
  /** Resolves when a machine has come to the step. */
  readonly entered: Promise<void>
  /** Lets it go on, or fail. */
  release(failure?: Error): void
}

/** A scripted runtime whose machines stop at a step for as long as a test wants them to. */
export function createHeldRuntime(...[options]: Parameters<typeof createScriptedRuntime>): {
  readonly runtime: RuntimePort
  /** Holds the next machine that comes to this step. */
  readonly hold: (step: Step) => Hold
} {
  const scripted = createScriptedRuntime(options)
  const holds = new Map<Step, { enter(): void; readonly released: Promise<Error | undefined> }>()

  const pass = async (step: Step) => {
    const hold = holds.get(step)
    holds.delete(step)
    hold?.enter()
    const failure = await hold?.released
    if (failure !== undefined) throw failure
  }
  const held = (machine: Machine): Machine => ({
    id: machine.id,
    confined: machine.confined,
    ended: machine.ended,
    files: machine.files,
    spawn: (spawned) => machine.spawn(spawned),
    connect: (port) => machine.connect(port),
    usage: () => machine.usage(),
    pause: async () => {
      await pass('pause')
      return machine.pause()
    },
    resume: async () => {
      await pass('resume')
      return machine.resume()
    },
    snapshot: async () => {
      await pass('snapshot')
      return machine.snapshot()
    },
    destroy: async () => {
      await pass('destroy')
      return machine.destroy()
    },
  })
  return {
    runtime: {
      ...scripted,
      createMachine: async (image, machine) => held(await scripted.createMachine(image, machine)),
    },
    hold(step) {
      const entered = deferred<void>()
      const released = deferred<Error | undefined>()
      // Also where the test fails before: the end of its emulator waits for what is held.
      onTestFinished(() => released.resolve(undefined))
      holds.set(step, { enter: () => entered.resolve(), released: released.promise })
      return { entered: entered.promise, release: (failure) => released.resolve(failure) }
    },
  }
}
