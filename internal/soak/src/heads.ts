import { setTimeout as pause } from 'node:timers/promises'
import { createTemplateApi, ensureTemplate } from '@warmbox/resolution'
import { runTasks, withEmulator } from './emulated.ts'
import { LAST_HEAD } from './heads-worker.ts'
import type { LeaseChoice } from './messages.ts'
import { specOf } from './session.ts'

const PROCESSES = 2
const NAME = 'moving'
const BUILD_MS = 1_500
/** The head moves several times during one build. */
const HEAD_MS = 400
const LOOK_MS = 5

export interface HeadsFigures {
  /** Heads of which a build was requested and none ended ready. */
  readonly lost: number
  /** Heads of which a build ended ready. */
  readonly ready: number
  /** Builds that did not end ready, because another one of the same head was requested. */
  readonly superseded: number
  /** How often `current` was seen to point to an older head than before. */
  readonly wentBack: number
  /** Whether `current` ended on the newest head. */
  readonly endsOnNewest: boolean
  readonly fallbacks: number
  readonly unhandled: number
}

/** Two processes start sessions while the head moves faster than builds end. */
export const runHeads = (heads: number, lease: LeaseChoice): Promise<HeadsFigures> =>
  withEmulator(BUILD_MS, async (emulator, connection) => {
    const { control } = emulator
    const shas = Array.from({ length: heads }, (_, index) =>
      index === heads - 1 ? `${index}-${LAST_HEAD}` : String(index),
    )
    let head = shas[0] ?? LAST_HEAD
    // What sessions boot from the beginning on.
    await ensureTemplate(specOf(`${NAME}:sha-${head}`, { buildTags: ['current'] }), {
      api: createTemplateApi(connection),
    })

    const current = (): number => {
      const tags = control.templates().find(({ name }) => name.endsWith(`/${NAME}`))?.tags ?? {}
      return shas.findIndex((sha) => tags[`sha-${sha}`] === tags['current'])
    }
    const over = new AbortController()
    let wentBack = 0
    const watch = async (): Promise<void> => {
      let before = current()
      while (!over.signal.aborted) {
        const now = current()
        if (now < before) wentBack += 1
        before = now
        // oxlint-disable-next-line no-await-in-loop -- it is watched for as long as the run lasts
        await pause(LOOK_MS)
      }
    }
    const watched: (() => void)[] = []
    const isWatched = new Promise<void>((resolve) => watched.push(resolve))
    const askHead = (): string => {
      for (const tell of watched.splice(0)) tell()
      return head
    }
    const move = async (): Promise<void> => {
      // Not before the workers, which take their time to load, look at it.
      await isWatched
      for (const sha of shas.slice(1)) {
        // oxlint-disable-next-line no-await-in-loop -- heads follow each other
        await pause(HEAD_MS)
        head = sha
      }
    }
    const watching = watch()
    const tasks = Array.from({ length: PROCESSES }, () => ({ kind: 'heads' as const, connection, lease, name: NAME }))
    const [{ fallbacks, unhandled }] = await Promise.all([
      runTasks(tasks, { head: askHead, sandboxes: () => 0 }),
      move(),
    ])
    over.abort()
    await watching
    const builds = control
      .builds()
      .flatMap(({ status, tags }) =>
        tags.filter((tag) => tag.startsWith('sha-')).map((tag) => ({ tag, isReady: status === 'ready' })),
      )
    const requested = new Set(builds.map(({ tag }) => tag))
    const completed = new Set(builds.filter(({ isReady }) => isReady).map(({ tag }) => tag))
    return {
      lost: requested.size - completed.size,
      ready: completed.size,
      superseded: builds.filter(({ isReady }) => !isReady).length,
      wentBack,
      endsOnNewest: current() === shas.length - 1,
      fallbacks,
      unhandled,
    }
  })
