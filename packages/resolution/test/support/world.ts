import {
  bootFromSpec,
  type BootOptions,
  createDefaultMountableTemplate,
  type NamedTemplateSpec,
  type ResolutionEvent,
  type Rung,
  type TemplateSpec,
} from '@warmbox/resolution'
import { SandboxError, Template } from 'e2b'
import { FakePlatform } from './fake-platform.ts'
import { VirtualClock } from './virtual-clock.ts'

/** One account, one clock, and a provider that boots whatever has a ready build there. */
export class World {
  readonly clock = new VirtualClock()
  readonly api = new FakePlatform(this.clock)
  readonly events: ResolutionEvent[] = []
  readonly booted: { ref: string; rung: Rung }[] = []
  /** Refs whose create answers 404 although they look ready. */
  readonly broken = new Set<string>()
  /** Refs only create knows, such as public templates. */
  readonly public = new Set<string>()

  readonly boot = async (ref: string, _signal: AbortSignal, { rung }: { rung: Rung }): Promise<string> => {
    const isReady = this.public.has(ref) || this.api.buildOf(ref.includes(':') ? ref : `${ref}:default`) !== undefined
    if (!isReady || this.broken.has(ref)) throw createAnswer(404, `template '${ref}' not found`)
    this.booted.push({ ref, rung })
    return `sandbox of ${ref}`
  }

  get options(): BootOptions<string> {
    return {
      api: this.api,
      boot: this.boot,
      clock: this.clock,
      random: () => 0.5,
      onEvent: (event) => this.events.push(event),
    }
  }

  start(spec: TemplateSpec | undefined, options: Partial<BootOptions<string>> = {}) {
    return bootFromSpec(spec, { ...this.options, ...options })
  }

  eventsOf<Type extends ResolutionEvent['type']>(type: Type): Extract<ResolutionEvent, { type: Type }>[] {
    return this.events.filter((event): event is Extract<ResolutionEvent, { type: Type }> => event.type === type)
  }
}

/** What the SDK throws for an answer of create. */
export function createAnswer(status: number, message: string): SandboxError {
  const error = new SandboxError(`${status}: ${message}`)
  error.statusCode = status
  return error
}

export const REF = 'mastra-repo-abc:sha-1'
export const STALE = 'mastra-repo-abc:current'
export const defaultRef = (size: { cpuCount?: number; memoryMB?: number } = {}): string =>
  `${createDefaultMountableTemplate(size).id}:default`

export const named = (changes: Partial<NamedTemplateSpec> = {}): NamedTemplateSpec => ({
  ref: REF,
  template: Template().fromBaseImage().runCmd('true'),
  ...changes,
})

/** `rung outcome` of each attempt. */
export const trace = (attempts: readonly { rung: string; outcome: string }[]): string[] =>
  attempts.map(({ rung, outcome }) => `${rung} ${outcome}`)

/** The error a promise rejects with. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error('Expected a rejection')
}
