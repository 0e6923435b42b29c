import { getEventListeners } from 'node:events'
import { bootFromSpec, type BuildRequest, settleBackgroundBuilds, type TemplateApi } from '@warmbox/resolution'
import { array, assert, asyncProperty, nat, option, type Scheduler, scheduler as schedulers } from 'fast-check'
import { expect, test } from 'vitest'
import { FakePlatform } from './support/fake-platform.ts'
import { VirtualClock } from './support/virtual-clock.ts'
import { createAnswer, named, REF } from './support/world.ts'

/** The platform, where each answer arrives when the schedule says so. */
function scheduled(platform: FakePlatform, scheduler: Scheduler): TemplateApi {
  const later = <Given extends unknown[], Answer>(
    method: (...given: Given) => Promise<Answer>,
  ): ((...given: Given) => Promise<Answer>) =>
    scheduler.scheduleFunction((...given: Given) => method.apply(platform, given))
  return {
    scope: platform.scope,
    status: later((ref: string, signal?: AbortSignal) => platform.status(ref, signal)),
    templateId: later((name: string, signal?: AbortSignal) => platform.templateId(name, signal)),
    tags: later((name: string, signal?: AbortSignal) => platform.tags(name, signal)),
    requestBuild: later((request: BuildRequest, signal?: AbortSignal) => platform.requestBuild(request, signal)),
    startBuild: later((build: { templateId: string; buildId: string }, request: BuildRequest, signal?: AbortSignal) =>
      platform.startBuild(build, request, signal),
    ),
    buildProgress: later((build: { templateId: string; buildId: string }, offset: number, signal?: AbortSignal) =>
      platform.buildProgress(build, offset, signal),
    ),
    assignTags: later((ref: string, tags: readonly string[], signal?: AbortSignal) =>
      platform.assignTags(ref, tags, signal),
    ),
    removeTags: later((name: string, tags: readonly string[], signal?: AbortSignal) =>
      platform.removeTags(name, tags, signal),
    ),
    listBuilds: later((templateId: string, signal?: AbortSignal) => platform.listBuilds(templateId, signal)),
  }
}

const REASON = new Error('this session ended')

test('however the answers to concurrent sessions interleave, a ref is built once, and who leaves leaves nothing', async () => {
  await assert(
    asyncProperty(
      schedulers(),
      array(option(nat({ max: 12 }), { nil: undefined }), { minLength: 2, maxLength: 5 }),
      async (scheduler, leaves) => {
        const clock = new VirtualClock()
        const platform = new FakePlatform(clock)
        const api = scheduled(platform, scheduler)
        const controllers = leaves.map(() => new AbortController())
        const boot = async (ref: string): Promise<string> => {
          if (platform.buildOf(ref) === undefined) throw createAnswer(404, 'not found')
          return ref
        }
        const sessions = controllers.map(({ signal }) =>
          bootFromSpec(named({ buildTags: ['current'], isCurrent: async () => true }), {
            api,
            boot,
            clock,
            random: () => 0.5,
            signal,
          }).then(
            ({ ref }) => ref,
            (error: unknown) => error,
          ),
        )
        for (const [index, after] of leaves.entries()) {
          if (after === undefined) continue
          const turns = Array.from({ length: after }, (_, turn) => ({
            label: `session ${index} waits ${turn}`,
            builder: () => Promise.resolve(),
          }))
          const leave = async (): Promise<void> => controllers[index]?.abort(REASON)
          scheduler.scheduleSequence([...turns, { label: `session ${index} leaves`, builder: leave }])
        }
        const outcomes = await scheduler.waitFor(Promise.all(sessions))
        await scheduler.waitFor(settleBackgroundBuilds())

        const isStaying = (index: number): boolean => leaves[index] === undefined
        expect(outcomes.filter((_, index) => isStaying(index))).toEqual(
          leaves.filter((after) => after === undefined).map(() => REF),
        )
        expect(outcomes.every((outcome) => outcome === REF || outcome === REASON)).toBe(true)
        expect(platform.count('requestBuild')).toBeLessThanOrEqual(1)
        expect(platform.count('startBuild')).toBe(platform.count('requestBuild'))
        expect(clock.sleeping).toBe(0)
        expect(controllers.flatMap(({ signal }) => getEventListeners(signal, 'abort'))).toEqual([])
      },
    ),
    { numRuns: 150 },
  )
}, 120_000)
