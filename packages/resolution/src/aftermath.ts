import { heal, tagsLeftBehind } from './advance.ts'
import { leaveRunning } from './background.ts'
import type { ResolutionListener } from './events.ts'
import type { Role, Step } from './ladder.ts'
import { obtain } from './obtain.ts'
import type { ResolvedOptions } from './options.ts'
import type { BuildTarget } from './target.ts'

/**
 * What a session need not wait for. It begins after the boot, so that a start which fails leaves nothing behind, and
 * nothing of it can cost the session its sandbox. It begins with the event loop's next turn: by then whoever waited for
 * the boot has its result, so no request of the background is prepared in between.
 */
export class Aftermath {
  readonly #targets: ReadonlyMap<Role, BuildTarget>
  readonly #options: ResolvedOptions
  readonly #emit: ResolutionListener

  constructor(targets: ReadonlyMap<Role, BuildTarget>, options: ResolvedOptions, emit: ResolutionListener) {
    this.#targets = targets
    this.#options = options
    this.#emit = emit
  }

  /** Builds what a stale boot left to build; moves the tags that an earlier build of the booted ref left behind. */
  follow({ ref, role, rung, thenBuild }: Extract<Step, { do: 'boot' }>): void {
    const target = this.#targets.get(role)
    if (target === undefined) return
    const { api, buildTimeoutMs, clock, lease, random } = this.#options
    const { signal } = new AbortController()
    const context = { api, buildTimeoutMs, clock, lease, random, signal, emit: this.#emit }
    if (thenBuild !== undefined) {
      const options = { force: thenBuild.force, background: true, despiteFailure: false }
      this.#leave(async () => {
        const { advancing } = await obtain(target, context, options)
        await advancing
      }, target.ref)
    } else if (rung === 'exact' && target.isCurrent !== undefined) {
      this.#leave(() => heal({ ...target, ref }, context, tagsLeftBehind), ref)
    }
  }

  #leave(work: () => Promise<unknown>, ref: string): void {
    leaveRunning(nextTurn().then(work), ref, this.#emit, this.#options.waitUntil)
  }
}

const nextTurn = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve)
  })
