import { E2BSandbox, LOGICAL_ID_KEY } from '@warmbox/sandbox'
import { Sandbox, type SandboxConnectOpts, type SandboxOpts, Template } from 'e2b'
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

  test('finds again what another process made, and its clone is of the same class', async () => {
    const e2b = platform()
    await new Desktop({ ...connection, id: 'shared', template: 'warm:v1' }).start()
    const elsewhere = new Desktop({ ...connection, id: 'shared', template: 'warm:v1' })

    expect(await elsewhere.start()).toEqual({ outcome: 'connected' })
    expect(elsewhere.e2b).toBeInstanceOf(DesktopSdk)
    expect(elsewhere.seen).toEqual([`connect ${e2b.only.id}`])
    expect(elsewhere.clone()).toBeInstanceOf(Desktop)
  })

  test('makes the sandbox that replaces a dead one', async () => {
    const e2b = platform()
    const sandbox = new Desktop({ ...connection, template: 'warm:v1' })
    await sandbox.start()
    e2b.sandboxes.clear()

    expect(await sandbox.executeCommand('true')).toMatchObject({ exitCode: 0 })

    expect(sandbox.e2b).toBeInstanceOf(DesktopSdk)
    expect(sandbox.seen.filter((call) => call.startsWith('create'))).toEqual(['create warm:v1', 'create warm:v1'])
  })

  test('is asked on a rung below the first too, with options that need nothing added', async () => {
    const e2b = platform()
    e2b.ready.add('stale:v1')
    const options: SandboxOpts[] = []
    class Recording extends Desktop {
      protected override createSdkSandbox(templateId: string, given: SandboxOpts): Promise<Sandbox> {
        options.push(given)
        return super.createSdkSandbox(templateId, given)
      }
    }
    const background: Promise<unknown>[] = []
    const sandbox = new Recording({
      ...connection,
      id: 'rungs',
      template: { ref: 'missing:v1', staleRef: 'stale:v1', template: Template().fromTemplate('base') },
      timeout: 60_000,
      metadata: { a: 1 },
      waitUntil: (work) => void background.push(work),
    })

    await sandbox.start()
    await Promise.allSettled(background)

    expect(sandbox.seen).toEqual(['create stale:v1'])
    expect(sandbox.lastBoot).toMatchObject({ ref: 'stale:v1', rung: 'stale' })
    expect(options[0]).toMatchObject({
      apiKey: connection.apiKey,
      timeoutMs: 60_000,
      metadata: { a: '1', [LOGICAL_ID_KEY]: 'rungs' },
    })
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

  test('is asked again only where it remembers nothing', async () => {
    const e2b = platform()
    e2b.ready.add('own:v1').add('own:v2')
    const sandbox = new Resolving({ ...connection })
    await sandbox.start()
    e2b.sandboxes.clear()
    sandbox.ref = 'own:v2'

    await sandbox.executeCommand('true')

    expect(e2b.only.template).toBe('own:v1')
    expect(sandbox.defaults).toBe(0)
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
