import type { KnownSandbox } from './finder.ts'
import { unlessGone } from './diagnose.ts'
import { E2BSandboxError } from './errors.ts'
import type { SandboxHost } from './host.ts'
import { byAge, type Candidate, LOGICAL_ID_KEY, toCandidate } from './metadata.ts'
import { assertCarriesId } from './ownership.ts'

/** How long a sandbox in transition is waited for before it is asked to pause again, in milliseconds. */
const PAUSE_DELAYS_MS: readonly number[] = [250, 500, 1_000, 2_000, 4_000]

/** What can be done with the sandboxes of a session by their ids alone: without a connection, and waking none. */
export class Detached {
  readonly #host: SandboxHost

  constructor(host: SandboxHost) {
    this.#host = host
  }

  /**
   * Ids of the sandboxes of the session, the one to keep first. A known one is the only one; a `sandboxId` of the
   * options that does not exist any more gives way to the logical id.
   * @throws E2BSandboxError `SANDBOX_FOREIGN`
   */
  async sandboxIds(known: KnownSandbox | undefined): Promise<readonly string[]> {
    const { id, idIsShared } = this.#host.options
    if (known !== undefined) {
      const isChecked = known.origin === 'option' && idIsShared
      if (!isChecked || (await assertCarriesId(this.#host, known.sandboxId))) return [known.sandboxId]
    }
    if (!idIsShared) return []
    const listed = await this.#host.connection().sandboxes.list({ [LOGICAL_ID_KEY]: id })
    const candidates: readonly Candidate[] = listed.map(toCandidate).toSorted(byAge)
    return candidates.map(({ sandboxId }) => sandboxId)
  }

  /**
   * Pauses a sandbox; one that is gone counts as paused.
   * @throws E2BSandboxError `CONFLICT` where it stays in a transition that is no pause
   */
  async pause(sandboxId: string): Promise<void> {
    const { sandboxes } = this.#host.connection()
    const { signal } = new AbortController()
    for (const delayMs of [0, ...PAUSE_DELAYS_MS]) {
      if (delayMs > 0) await this.#host.options.clock.sleep(delayMs, signal)
      if ((await unlessGone(() => sandboxes.pause(sandboxId))) !== false) return
      // The SDK says the same of a sandbox that is paused and of one that is being resumed or snapshot.
      const info = await unlessGone(() => sandboxes.info(sandboxId))
      if (info?.state !== 'running') return
    }
    throw new E2BSandboxError({
      code: 'CONFLICT',
      message: `Sandbox ${sandboxId} is in transition and does not pause`,
      hint: 'Stop it again after a short wait',
    })
  }

  async kill(sandboxId: string): Promise<void> {
    await this.#host.connection().sandboxes.kill(sandboxId)
  }
}
