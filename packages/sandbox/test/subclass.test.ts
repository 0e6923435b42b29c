import { E2BSandbox } from '@warmbox/sandbox'
import { Sandbox, type SandboxConnectOpts, type SandboxOpts } from 'e2b'
import { describe, expect, test } from 'vitest'
import { connection, failure, platform, recorder } from './support/index.ts'

describe('a subclass that layers another SDK class', () => {
  class DesktopSdk extends Sandbox {
    readonly desktop = true
  }

  class Desktop extends E2BSandbox {
    readonly seen: string[] = []

    protected override createSdkSandbox(templateId: string, options: SandboxOpts): Promise<Sandbox> {
      this.seen.push(`create ${templateId}`)
      return DesktopSdk.create(templateId, options)
    }

    protected override connectSdkSandbox(sandboxId: string, options: SandboxConnectOpts): Promise<Sandbox> {
      this.seen.push(`connect ${sandboxId}`)
      return DesktopSdk.connect(sandboxId, options)
    }
  }

  test('makes and resumes every sandbox', async () => {
    const e2b = platform()
    const sandbox = new Desktop({ ...connection, template: 'warm:v1' })

    await sandbox.start()
    expect(sandbox.e2b).toBeInstanceOf(DesktopSdk)
    await sandbox._stop()
    await sandbox.start()

    expect(sandbox.e2b).toBeInstanceOf(DesktopSdk)
    expect(sandbox.seen).toEqual(['create warm:v1', `connect ${e2b.only.id}`])
  })
})

describe('a subclass that overrides resolveTemplate alone', () => {
  class Resolving extends E2BSandbox {
    ref = 'own:v1'
    defaults = 0

    protected override resolveTemplate(): Promise<string> {
      this._resolvedTemplateId ??= this.ref
      return Promise.resolve(this._resolvedTemplateId)
    }

    protected override buildDefaultTemplate(): Promise<string> {
      this.defaults += 1
      return Promise.resolve('own-default:v1')
    }

    get cached(): string | undefined {
      return this._resolvedTemplateId
    }
  }

  test('decides what sandboxes are created from', async () => {
    const e2b = platform()
    e2b.ready.add('own:v1')
    const { events, onEvent } = recorder()
    const sandbox = new Resolving({ ...connection, template: 'warm:v1', onEvent })

    await sandbox.start()

    expect(e2b.only.template).toBe('own:v1')
    expect(sandbox.lastBoot).toEqual({ ref: 'own:v1', attempts: [] })
    expect(sandbox.cached).toBe('own:v1')
    expect(events).toMatchObject([{ type: 'sandbox-created', ref: 'own:v1' }])
    expect(e2b.requests.map(({ path }) => path)).toEqual(['/v2/sandboxes'])
  })

  test('falls back to its default template once', async () => {
    const e2b = platform()
    e2b.ready.add('own-default:v1')
    const sandbox = new Resolving({ ...connection })

    await sandbox.start()

    expect(e2b.only.template).toBe('own-default:v1')
    expect(sandbox.defaults).toBe(1)
    expect(sandbox.cached).toBe('own-default:v1')
  })

  test('fails with a typed error where that cannot be booted either', async () => {
    platform()
    const sandbox = new Resolving({ ...connection })

    expect(await failure(sandbox.start())).toMatchObject({ code: 'TEMPLATE_MISSING' })
    expect(sandbox.defaults).toBe(1)
  })
})

test('resolveTemplate answers a bootable ref, and remembers it', async () => {
  const e2b = platform()
  class Asking extends E2BSandbox {
    ask(): Promise<string> {
      return this.resolveTemplate()
    }
  }
  const sandbox = new Asking({ ...connection, template: 'warm:v1' })

  expect(await sandbox.ask()).toBe('warm:v1')
  const asked = e2b.requests.length
  expect(await sandbox.ask()).toBe('warm:v1')

  expect(asked).toBeGreaterThan(0)
  expect(e2b.requests).toHaveLength(asked)
})
