import {
  type Attributes,
  context,
  type Counter,
  type Histogram,
  type Meter,
  metrics,
  type Span,
  SpanStatusCode,
  trace,
  type Tracer,
} from '@opentelemetry/api'
import type { ResolutionEvent } from './events.ts'
import { unreachable } from './unreachable.ts'

export interface ResolutionTelemetryOptions {
  /** Default: the tracer `@warmbox/resolution` of the provider that is registered with the API. */
  readonly tracer?: Tracer
  /** Default: the meter `@warmbox/resolution` of the provider that is registered with the API. */
  readonly meter?: Meter
  /** Milliseconds since the epoch, to place the spans by. Default `Date.now`. */
  readonly now?: () => number
}

/** Takes the events of one session; others, such as those of a sandbox provider, pass unseen. Fits every `onEvent`. */
export type ResolutionTelemetryListener = (event: { readonly type: string }) => void

export interface ResolutionTelemetry {
  /**
   * A listener for the `onEvent` of one session: a sandbox, or one call that resolves, boots or refreshes. Listeners are
   * not shared among sessions, or the parts of several would be told as one.
   */
  listener(): ResolutionTelemetryListener
}

const SCOPE = '@warmbox/resolution'

/**
 * Turns the events of resolutions into spans and metrics.
 *
 * - span `warmbox.resolve` around a resolution, with the rungs tried, builds joined or taken over, warnings and moved tags
 *   as its events
 * - spans `warmbox.build` and `warmbox.create` within it; a build that goes on in the background ends after its parent.
 *   A build is one span and is counted once, by the session that began it; those that wait for it too count a join
 * - counters `warmbox.resolutions` by rung and outcome, `warmbox.rungs`, `warmbox.builds`, `warmbox.creates`,
 *   `warmbox.advances` by outcome, `warmbox.joins` by how the build was found
 * - histogram `warmbox.resolve.duration` in seconds
 *
 * Attributes are `warmbox.rung`, `warmbox.ref`, `warmbox.outcome`, `warmbox.code`, `warmbox.step`, `warmbox.background`,
 * `warmbox.build_id` and `warmbox.found_by`. All texts were redacted before they became events; build log lines are left out.
 */
export function createResolutionTelemetry(options: ResolutionTelemetryOptions = {}): ResolutionTelemetry {
  const { tracer = trace.getTracer(SCOPE), meter = metrics.getMeter(SCOPE), now = Date.now } = options
  const instruments = createInstruments(meter)
  return {
    listener: () => {
      const session = new SessionTelemetry(tracer, instruments, now)
      return (event) => {
        if (isResolutionEvent(event)) session.hear(event)
      }
    },
  }
}

const TYPES: Readonly<Record<ResolutionEvent['type'], true>> = {
  rung: true,
  create: true,
  'build-start': true,
  'build-joined': true,
  'build-taken-over': true,
  'build-log': true,
  'build-end': true,
  advance: true,
  warning: true,
  'resolution-end': true,
}

const isResolutionEvent = (event: { readonly type: string }): event is ResolutionEvent =>
  Object.hasOwn(TYPES, event.type)

interface Instruments {
  readonly resolutions: Counter
  readonly rungs: Counter
  readonly builds: Counter
  readonly creates: Counter
  readonly joins: Counter
  readonly advances: Counter
  readonly duration: Histogram
}

const createInstruments = (meter: Meter): Instruments => ({
  resolutions: meter.createCounter('warmbox.resolutions', { description: 'Resolutions that ended' }),
  rungs: meter.createCounter('warmbox.rungs', { description: 'Rungs that were tried' }),
  builds: meter.createCounter('warmbox.builds', { description: 'Template builds that ended' }),
  creates: meter.createCounter('warmbox.creates', { description: 'Tries to create a sandbox' }),
  joins: meter.createCounter('warmbox.joins', { description: 'Builds of others that were awaited' }),
  advances: meter.createCounter('warmbox.advances', { description: 'Tries to move tags to a finished build' }),
  duration: meter.createHistogram('warmbox.resolve.duration', { description: 'Duration of resolutions', unit: 's' }),
})

/** A part of a resolution, kept until the whole is known: a span cannot begin before its parent. */
interface Part {
  readonly name: string
  readonly attributes: Attributes
  readonly startedAt: number
  readonly endedAt: number
  /** Why it failed. */
  readonly failure: string | undefined
}

interface Moment {
  readonly name: string
  readonly attributes: Attributes
  readonly at: number
}

class SessionTelemetry {
  readonly #tracer: Tracer
  readonly #instruments: Instruments
  readonly #now: () => number
  #parts: Part[] = []
  #moments: Moment[] = []
  /** The last resolution that ended, to which belongs what begins in the background. */
  #last: Span | undefined
  /** Builds that run, with the resolution each belongs to; undefined while that has not ended. */
  readonly #running = new Map<string, Span | undefined>()

  constructor(tracer: Tracer, instruments: Instruments, now: () => number) {
    this.#tracer = tracer
    this.#instruments = instruments
    this.#now = now
  }

  hear(event: ResolutionEvent): void {
    const { advances, builds, creates, joins, rungs } = this.#instruments
    const attributes = attributesOf(event)
    switch (event.type) {
      case 'build-start':
        this.#running.set(event.ref, event.background ? this.#last : undefined)
        break
      case 'build-log':
        break
      case 'build-end':
        builds.add(1, pick(attributes, 'outcome', 'background'))
        this.#addBuild(event, attributes)
        break
      case 'create':
        creates.add(1, pick(attributes, 'rung', 'outcome'))
        this.#parts.push(
          this.#part('warmbox.create', attributes, event, event.outcome !== 'created' && event.outcome !== 'adopted'),
        )
        break
      case 'build-joined':
        joins.add(1, pick(attributes, 'found_by', 'background'))
        this.#addMoment('warmbox.build-joined', attributes)
        break
      case 'build-taken-over':
        this.#addMoment('warmbox.build-taken-over', attributes)
        break
      case 'rung':
        rungs.add(1, pick(attributes, 'rung', 'outcome'))
        this.#addMoment('warmbox.rung', attributes)
        break
      case 'advance':
        advances.add(1, pick(attributes, 'outcome'))
        this.#addMoment('warmbox.advance', attributes)
        break
      case 'warning':
        this.#addMoment('warmbox.warning', attributes)
        break
      case 'resolution-end':
        this.#end(event, attributes)
        break
      default:
        unreachable(event)
    }
  }

  #addBuild(event: Extract<ResolutionEvent, { type: 'build-end' }>, attributes: Attributes): void {
    const part = this.#part('warmbox.build', attributes, event, event.outcome === 'failed')
    const parent = this.#running.get(event.ref)
    this.#running.delete(event.ref)
    if (parent === undefined) this.#parts.push(part)
    else this.#emit(part, parent)
  }

  #part(
    name: string,
    attributes: Attributes,
    { durationMs, reason }: { readonly durationMs: number; readonly reason?: string },
    hasFailed: boolean,
  ): Part {
    const endedAt = this.#now()
    return {
      name,
      attributes,
      startedAt: endedAt - durationMs,
      endedAt,
      failure: hasFailed ? (reason ?? '') : undefined,
    }
  }

  /** What happens after a resolution ended is told by the counters alone: an ended span takes no more events. */
  #addMoment(name: string, attributes: Attributes): void {
    this.#moments.push({ name, attributes, at: this.#now() })
  }

  #end(event: Extract<ResolutionEvent, { type: 'resolution-end' }>, attributes: Attributes): void {
    const { duration, resolutions } = this.#instruments
    resolutions.add(1, pick(attributes, 'rung', 'outcome'))
    duration.record(event.durationMs / 1_000, pick(attributes, 'rung', 'outcome'))
    const whole = this.#part('warmbox.resolve', attributes, event, event.outcome === 'failed')
    const span = this.#tracer.startSpan(whole.name, { attributes, startTime: whole.startedAt })
    for (const moment of this.#moments) {
      // What an earlier resolution left behind in the background may have spoken in between.
      if (moment.at >= whole.startedAt) span.addEvent(moment.name, moment.attributes, moment.at)
    }
    for (const part of this.#parts) this.#emit(part, span)
    this.#moments = []
    this.#parts = []
    this.#last = span
    // A build that others wait for goes on although its resolution was aborted.
    for (const [ref, parent] of this.#running) if (parent === undefined) this.#running.set(ref, span)
    finish(span, whole)
  }

  #emit(part: Part, parent: Span): void {
    const { attributes, name, startedAt } = part
    const within = trace.setSpan(context.active(), parent)
    finish(this.#tracer.startSpan(name, { attributes, startTime: startedAt }, within), part)
  }
}

function finish(span: Span, { endedAt, failure }: Part): void {
  if (failure !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: failure })
  span.end(endedAt)
}

/** Names of attributes, by the fields of events they are read from. */
const ATTRIBUTES = {
  rung: 'rung',
  ref: 'ref',
  outcome: 'outcome',
  code: 'code',
  step: 'step',
  background: 'background',
  reason: 'reason',
  tags: 'tags',
  buildId: 'build_id',
  foundBy: 'found_by',
} as const
type AttributeName = (typeof ATTRIBUTES)[keyof typeof ATTRIBUTES]

function attributesOf(event: ResolutionEvent): Attributes {
  const attributes: Attributes = {}
  for (const [field, name] of Object.entries(ATTRIBUTES)) {
    const value: unknown = Reflect.get(event, field)
    if (typeof value === 'string' || typeof value === 'boolean') attributes[`warmbox.${name}`] = value
    if (Array.isArray(value)) attributes[`warmbox.${name}`] = value.map(String)
  }
  return attributes
}

/** Metrics keep to attributes with few values; a ref has a new one for each commit. */
function pick(attributes: Attributes, ...names: readonly AttributeName[]): Attributes {
  const picked: Attributes = {}
  for (const name of names) {
    const value = attributes[`warmbox.${name}`]
    if (value !== undefined) picked[`warmbox.${name}`] = value
  }
  return picked
}
