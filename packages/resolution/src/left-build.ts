/** A client starts a build right after requesting it, unless it has files to upload in between. */
const STARTABLE_AFTER_MS = 15_000
/** What nobody started for this long, uploads or not, belongs to a client that is gone. */
const ABANDONED_AFTER_MS = 5 * 60_000

/**
 * What a build that still waits means, `waitedMs` after it was requested: its client lost the answer, was refused the
 * start or is gone. Without an upload whoever wants it can start it; else another build has to take its place.
 */
export async function leftAfter(
  waitedMs: number,
  uploads: () => Promise<boolean>,
): Promise<{ readonly abandoned: boolean; readonly startable: boolean }> {
  const startable = waitedMs > STARTABLE_AFTER_MS && !(await uploads())
  return { abandoned: waitedMs > ABANDONED_AFTER_MS, startable }
}
