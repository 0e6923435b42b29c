import { E2BSandbox } from '@warmbox/sandbox'
import type { Sandbox, SandboxOpts } from 'e2b'
import { describe, expect, test } from 'vitest'
import { apiError, connection, type FakeE2B, failure, platform, recorder, sandboxOf } from './support/index.ts'

const metadataOf = (body: unknown): Record<string, string> =>
  typeof body === 'object' && body !== null && 'metadata' in body ? Object.assign({}, body.metadata) : {}

/** The platform makes the sandbox and then answers as if it had not. */
function createsButAnswers(e2b: FakeE2B, response: () => Response, times = 1): void {
  let left = times
  e2b.faults.push(({ method, path, body }) => {
    if (left === 0 || method !== 'POST' || path !== '/v2/sandboxes') return undefined
    left -= 1
    e2b.add({ metadata: metadataOf(body) })
    return response()
  })
}

describe('a create that fails ambiguously', () => {
  test.each([500, 502, 504])('answered %i is looked up and its sandbox taken over', async (status) => {
    const e2b = platform()
    createsButAnswers(e2b, () => apiError(status, 'placement'))
    const { events, onEvent } = recorder()
    const sandbox = sandboxOf({ onEvent })

    await sandbox.start()

    expect(sandbox.sandboxId).toBe(e2b.only.id)
    expect(e2b.only.connects).toEqual([{ timeout: 300 }])
    expect(events).toContainEqual(expect.objectContaining({ type: 'sandbox-created', adopted: true }))
  })

  test('without an answer is looked up and its sandbox taken over', async () => {
    const e2b = platform()
    class Silent extends E2BSandbox {
      protected override async createSdkSandbox(templateId: string, options: SandboxOpts): Promise<Sandbox> {
        await super.createSdkSandbox(templateId, options)
        throw new DOMException('The operation was aborted due to timeout', 'TimeoutError')
      }
    }
    const sandbox = new Silent({ ...connection, template: 'warm:v1' })

    await sandbox.start()

    expect(sandbox.sandboxId).toBe(e2b.only.id)
  })

  test('that made nothing is reported, and no second one is sent', async () => {
    const e2b = platform()
    e2b.fail('POST', /^\/v2\/sandboxes$/, () => apiError(500, 'broken'))

    const error = await failure(sandboxOf().start())

    expect(error).toMatchObject({ code: 'PLATFORM', status: 500 })
    expect(e2b.paths('POST')).toEqual(['/v2/sandboxes'])
  })

  test('is not hidden by a lookup that fails as well', async () => {
    const e2b = platform()
    e2b.fail('POST', /^\/v2\/sandboxes$/, () => apiError(500, 'broken'))
    e2b.fail('GET', /^\/v2\/sandboxes$/, () => apiError(500, 'broken too'), Number.POSITIVE_INFINITY)
    const { events, onEvent } = recorder()

    e2b.ready.add('unlucky:v1')
    const error = await failure(sandboxOf({ template: 'unlucky:v1', onEvent }).start())

    expect(error).toMatchObject({ code: 'PLATFORM', message: expect.stringContaining('broken') })
    expect(events).toContainEqual(expect.objectContaining({ type: 'warning', code: 'SANDBOX_MAY_REMAIN' }))
  })

  test('twice from one ref counts the ref as unusable', async () => {
    const e2b = platform()
    e2b.ready.add('broken:v1')
    e2b.fail('POST', /^\/v2\/sandboxes$/, () => apiError(500, 'lost artifacts'), 2)

    expect(await failure(sandboxOf({ template: 'broken:v1', strictTemplate: true }).start())).toMatchObject({
      code: 'PLATFORM',
    })
    expect(await failure(sandboxOf({ template: 'broken:v1', strictTemplate: true }).start())).toMatchObject({
      code: 'TEMPLATE_MISSING',
    })
  })
})

describe('a template that cannot be booted', () => {
  test('gives way to the default template, with a warning', async () => {
    const e2b = platform()
    e2b.faults.push(({ path }) => {
      const name = /^\/templates\/aliases\/(mastra-[0-9a-f]+:default)$/.exec(path)?.[1]
      if (name !== undefined) e2b.ready.add(name)
      return undefined
    })
    const { events, onEvent } = recorder()
    const sandbox = sandboxOf({ template: 'missing:v1', onEvent })

    await sandbox.start()

    expect(sandbox.lastBoot).toMatchObject({ rung: 'default', ref: expect.stringMatching(/^mastra-.*:default$/) })
    expect(sandbox.lastBoot?.attempts[0]).toMatchObject({ ref: 'missing:v1', outcome: 'unusable' })
    expect(events).toContainEqual(expect.objectContaining({ type: 'warning', ref: 'missing:v1' }))
  })
})
