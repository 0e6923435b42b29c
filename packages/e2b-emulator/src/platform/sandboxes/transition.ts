import type { KillingPhase, SandboxRecord, SettledPhase, TransitionPhase } from '../state.ts'

/** Where a transition leads, and what whoever began it gets. */
export interface Arrival<T> {
  readonly phase: SettledPhase
  readonly result: T
}

/**
 * Takes a sandbox into another settled phase. It is in the transition before this returns. Where `work` fails the sandbox
 * falls back, and the failure is the caller's.
 */
export async function transition<T>(
  sandbox: SandboxRecord,
  name: TransitionPhase['name'],
  from: SettledPhase,
  work: () => Promise<Arrival<T>>,
  fallback: () => SettledPhase = () => from,
): Promise<T> {
  const outcome = attempt(work, fallback)
  const phase: TransitionPhase = { name, from, settled: outcome.then((end) => end.phase) }
  sandbox.phase = phase
  const end = await outcome
  // A kill that came meanwhile waits for the arrival, and ends the sandbox from there.
  if (sandbox.phase === phase) sandbox.phase = end.phase
  if ('error' in end) throw end.error
  return end.result
}

async function attempt<T>(work: () => Promise<Arrival<T>>, fallback: () => SettledPhase) {
  try {
    return await work()
  } catch (error) {
    return { phase: fallback(), error }
  }
}

export const isTransition = (phase: SandboxRecord['phase']): phase is TransitionPhase =>
  phase.name === 'pausing' || phase.name === 'resuming' || phase.name === 'snapshotting'

/** Waits until no transition is under way. */
export async function settle(sandbox: SandboxRecord): Promise<SettledPhase | KillingPhase> {
  for (;;) {
    const { phase } = sandbox
    if (!isTransition(phase)) return phase
    await phase.settled
  }
}
