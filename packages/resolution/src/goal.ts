import { type BootAnswer, type BootContext, bootOnce } from './boot-once.ts'
import { describeError } from './describe-error.ts'
import type { Rung } from './events.ts'
import type { Candidate } from './ladder.ts'
import { lookAgain } from './look-again.ts'
import type { BootPorts, ResolvedOptions } from './options.ts'

/** What is done with a ref that should work. Booting finds out by itself whether it is ready; answering it does not. */
export interface Goal<T> {
  readonly kind: 'boot' | 'resolve'
  reach(candidate: Candidate, rung: Rung, ref: string, context: BootContext): Promise<BootAnswer<T>>
}

/** A sandbox from the ref. */
export const bootGoal = <T>(ports: BootPorts<T>): Goal<T> => ({
  kind: 'boot',
  reach: async (_candidate, rung, ref, context) => {
    const { clock, emit } = context
    const startedAt = clock.now()
    const tell = (outcome: 'created' | 'adopted' | 'unusable' | 'failed', error?: unknown): void => {
      const told = error === undefined ? {} : describeError(error)
      emit({ type: 'create', ref, rung, outcome, ...told, durationMs: Math.max(0, clock.now() - startedAt) })
    }
    try {
      const answer = await bootOnce(ref, rung, ports, context)
      if (answer.kind === 'booted') tell(answer.adopted ? 'adopted' : 'created')
      else tell('unusable', answer.error)
      return answer
    } catch (error) {
      tell('failed', error)
      throw error
    }
  },
})

/** The ref alone. One of ours was asked for in the step before; a public template belongs to another account. */
export const resolveGoal = ({ api, random }: Pick<ResolvedOptions, 'api' | 'random'>): Goal<undefined> => ({
  kind: 'resolve',
  reach: async (candidate, _rung, ref, { clock, signal }) =>
    candidate.kind === 'buildable' ||
    (await lookAgain(() => api.status(ref, signal), { clock, random, signal })) !== 'missing'
      ? { kind: 'booted', value: undefined, adopted: false }
      : { kind: 'unbootable', because: 'missing', error: undefined },
})
