import type { MountManager, MountResult, WorkspaceFilesystem } from '@mastra/core/workspace'
import { expectMounts, noteMount } from './mount-list.ts'
import { Mounter, type MountHost } from './mounter.ts'

export interface SessionMountsHost extends MountHost {
  /** Mastra's list of the mounts of this sandbox. */
  list(): MountManager
  /** Told what could not be cleaned up; the session goes on. */
  warn(message: string, error: unknown): void
}

/** The mounts of one session, over starts, stops and pauses of its sandbox. */
export class SessionMounts {
  readonly #host: SessionMountsHost
  readonly #mounter: Mounter

  constructor(host: SessionMountsHost) {
    this.#host = host
    this.#mounter = new Mounter(host)
  }

  async mount(filesystem: WorkspaceFilesystem, path: string): Promise<MountResult> {
    const result = await this.#mounter.mount(filesystem, path)
    noteMount(this.#host.list(), path, filesystem, result)
    return result
  }

  async unmount(path: string): Promise<void> {
    await this.#mounter.unmount(path)
    this.#host.list().delete(path)
  }

  reconcile(expected: readonly string[]): Promise<void> {
    return this.#mounter.reconcile(expected)
  }

  /** Has the next start mount everything again: a mount ends with the machine it was made in. */
  expect(): void {
    expectMounts(this.#host.list())
  }

  /** Removes what a process before this one mounted and the workspace no longer names. Never rejects. */
  async dropStale(): Promise<void> {
    const { entries } = this.#host.list()
    if (entries.size === 0) return
    try {
      await this.#mounter.reconcile([...entries.keys()])
    } catch (error) {
      this.#host.warn('Old mounts could not be removed', error)
    }
  }

  /** Before a pause, which no mount survives. One that stays does not keep the sandbox from pausing. Never rejects. */
  async dropAll(): Promise<void> {
    const isMounted = [...this.#host.list().entries.values()].some(({ state }) => state === 'mounted')
    if (!isMounted) return
    try {
      await this.#mounter.reconcile([])
    } catch (error) {
      this.#host.warn('The mounts could not be removed before the pause', error)
    }
    this.expect()
  }
}
