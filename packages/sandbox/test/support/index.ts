import { E2BSandbox, type E2BSandboxEvent, type E2BSandboxOptions } from '@warmbox/sandbox'
import { API_KEY, DOMAIN, FakeE2B } from './fake-e2b.ts'

export { deferred } from './deferred.ts'
export { API_KEY, apiError, DOMAIN, FakeE2B, notThere, startedCommand } from './fake-e2b.ts'
export { failedStream, FakeProcess } from './fake-process.ts'

export const connection = { apiKey: API_KEY, domain: DOMAIN }

/**
 * A fake platform on which the template `warm:v1` is ready. What this process remembers of sandboxes created before does
 * not count on it.
 */
export function platform(): FakeE2B {
  const creates: unknown = Reflect.get(globalThis, Symbol.for('warmbox.sandbox.creates'))
  if (creates instanceof Map) creates.clear()
  const e2b = new FakeE2B().install()
  e2b.ready.add('warm:v1')
  return e2b
}

/** A sandbox of `warm:v1` on the fake platform. */
export function sandboxOf(options: E2BSandboxOptions = {}): E2BSandbox {
  return new E2BSandbox({ ...connection, template: 'warm:v1', ...options })
}

/** What `onEvent` received. */
export function recorder(): { readonly events: E2BSandboxEvent[]; readonly onEvent: (event: E2BSandboxEvent) => void } {
  const events: E2BSandboxEvent[] = []
  return { events, onEvent: (event) => void events.push(event) }
}

export const eventTypes = (events: readonly E2BSandboxEvent[]): string[] => events.map(({ type }) => type)

/** The error of something that is expected to fail. */
export async function failure(work: Promise<unknown>): Promise<unknown> {
  try {
    await work
  } catch (error) {
    return error
  }
  throw new Error('It was expected to fail')
}
