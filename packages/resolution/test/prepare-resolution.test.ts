import { bootFromSpec, prepareResolution, type ResolveContext, type TemplateSpec } from '@warmbox/resolution'
import { WarmboxError } from '@warmbox/identity'
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { named, REF, rejection, STALE, trace, World } from './support/world.ts'

const NAME = 'mastra-repo-abc'

describe('a preparation', () => {
  test('asks for the tags while the rest of the spec is determined', async () => {
    const world = new World()
    world.api.seed(REF, 'ready')
    const spec = {
      resolveSpec: async (context: ResolveContext = {}) => {
        context.expectName?.(NAME)
        await expect.poll(() => world.api.calls).toEqual([{ method: 'tags', ref: NAME }])
        return named()
      },
    }
    const prepared = await prepareResolution(spec, { api: world.api })
    expect((await bootFromSpec(prepared, world.options)).rung).toBe('exact')
    expect(world.api.calls).toEqual([{ method: 'tags', ref: NAME }])
  })

  test('changes nothing and tells nothing until it is booted from', async () => {
    const world = new World()
    world.api.seed(STALE, 'ready')
    const warning = { type: 'warning', code: 'HEAD_UNREACHABLE', message: 'no head' } as const
    let resolved = 0
    const spec = {
      resolveSpec: async (context: ResolveContext = {}) => {
        resolved += 1
        context.onEvent?.(warning)
        return named()
      },
    }
    const prepared = await prepareResolution(spec, { api: world.api })
    expect(world.api.calls.map(({ method }) => method)).toEqual(['tags'])
    expect(world.events).toEqual([])
    await bootFromSpec(prepared, world.options)
    expect(world.events[0]).toEqual(warning)
    expect(resolved).toBe(1)
  })

  test('is not misled by a name that turns out to be another, or none', async () => {
    const world = new World()
    world.api.seed(REF, 'ready')
    const spec = {
      resolveSpec: async (context: ResolveContext = {}) => {
        context.expectName?.('another')
        context.expectName?.('No Name!')
        return named()
      },
    }
    expect((await world.start(spec)).rung).toBe('exact')
    expect(world.api.calls.map(({ ref }) => ref)).toEqual(['another', NAME])
  })

  test('that is aborted ends at once, whatever the spec does', async () => {
    const world = new World()
    const controller = new AbortController()
    const spec = { resolveSpec: () => new Promise<never>(() => undefined) }
    const preparing = rejection(prepareResolution(spec, { api: world.api, signal: controller.signal }))
    controller.abort(new Error('found'))
    expect(await preparing).toBe(controller.signal.reason)
  })

  test('refuses a malformed spec before any request', async () => {
    const world = new World()
    const error = await rejection(prepareResolution(named({ ref: 'not a ref' }), { api: world.api }))
    expect(error).toMatchObject({ code: 'INVALID_SPEC' })
    expect(world.api.calls).toEqual([])
  })

  test('shows no secret of its spec', async () => {
    const world = new World()
    const prepared = await prepareResolution(named({ redact: ['hunter2hunter2'] }), { api: world.api })
    expect(`${inspect(prepared, { depth: 10, showHidden: true })}${JSON.stringify(prepared)}`).not.toContain('hunter2')
  })
})

const invalid = (): Promise<never> =>
  Promise.reject(new WarmboxError({ code: 'CLONE_URL_INVALID', message: 'ssh is no clone URL' }))

describe('a deferred spec with malformed input', () => {
  const malformed: [string, TemplateSpec, object][] = [
    ['of its own', { resolveSpec: invalid }, { ref: '', code: 'CLONE_URL_INVALID' }],
    ['in what it gives', { resolveSpec: async () => named({ ref: 'a b' }) }, { ref: '', code: 'INVALID_SPEC' }],
    [
      'after its name was known',
      {
        resolveSpec: async (context) => {
          context?.expectName?.(NAME)
          return invalid()
        },
      },
      { ref: NAME, code: 'CLONE_URL_INVALID' },
    ],
  ]

  test.each(malformed)('%s: shows it as an attempt', async (_where, spec, attempt) => {
    const world = new World()
    const { attempts } = await world.start(spec)
    expect(trace(attempts)).toEqual(['exact failed', 'default booted'])
    expect(attempts[0]).toMatchObject({ rung: 'exact', outcome: 'failed', ...attempt })
    expect(world.eventsOf('warning')).toHaveLength(1)
  })
})
