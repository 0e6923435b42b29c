import { Sandbox } from 'e2b'
import type { EmulatorConnection } from '@warmbox/e2b-emulator'
import { median, sample } from './sampling.ts'
import { templates } from './subject.ts'

/** Between a kill and the next create: a person's or a test's pause, in which spares are made. */
export const pauseMs = 400

/** p50 of `Sandbox.create`. `changing`: never twice in a row from the same template, so that no spare fits. */
export async function creation(
  connection: EmulatorConnection,
  { rounds, changing = false }: { rounds: number; changing?: boolean },
): Promise<number> {
  let current: Sandbox | undefined
  const times = await sample(
    rounds,
    async (round) => {
      current = await Sandbox.create(templates[changing ? round % 2 : 0] ?? templates[0], connection)
    },
    async () => {
      await current?.kill()
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
    },
  )
  // The first of a template finds nothing prepared.
  return median(times.slice(2))
}
