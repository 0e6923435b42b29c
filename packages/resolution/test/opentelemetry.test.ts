import { SpanStatusCode } from '@opentelemetry/api'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { settleBackgroundBuilds } from '@warmbox/resolution'
import { createResolutionTelemetry } from '@warmbox/resolution/opentelemetry'
import { afterEach, expect, test } from 'vitest'
import { createAnswer, named, REF, rejection, STALE, World } from './support/world.ts'

const shutdowns: (() => Promise<void>)[] = []
afterEach(async () => {
  await Promise.all(shutdowns.splice(0).map((shutdown) => shutdown()))
})

/** A world whose sessions are traced by the real SDK into memory. */
function traced() {
  const world = new World()
  const spans = new InMemorySpanExporter()
  const tracing = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter: spans })] })
  const measured = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter: measured, exportIntervalMillis: 3_600_000 })
  const metering = new MeterProvider({ readers: [reader] })
  shutdowns.push(
    () => tracing.shutdown(),
    () => metering.shutdown(),
  )
  const telemetry = createResolutionTelemetry({
    tracer: tracing.getTracer('test'),
    meter: metering.getMeter('test'),
    now: () => world.clock.now(),
  })
  return {
    world,
    telemetry,
    spans: () => spans.getFinishedSpans(),
    /** `name{attributes} value` of every counter. */
    counts: async () => {
      await metering.forceFlush()
      const [latest] = measured.getMetrics().slice(-1)
      return (latest?.scopeMetrics ?? []).flatMap(({ metrics }) =>
        metrics.flatMap(({ descriptor, dataPoints }) =>
          dataPoints
            .filter(({ value }) => typeof value === 'number')
            .map(
              ({ attributes, value }) =>
                `${descriptor.name} ${Object.values(attributes).join(' ')}: ${JSON.stringify(value)}`,
            ),
        ),
      )
    },
  }
}

const notFound = (): Promise<string> => Promise.reject(createAnswer(404, 'not found'))

const byName = (spans: readonly ReadableSpan[], name: string): ReadableSpan => {
  const span = spans.find((each) => each.name === name)
  if (span === undefined) throw new Error(`There is no span ${name}`)
  return span
}
const milliseconds = ([seconds, nanoseconds]: readonly [number, number]): number => seconds * 1_000 + nanoseconds / 1e6

test('a cold start: build and create within the resolution, each as long as it took', async () => {
  const { counts, spans, telemetry, world } = traced()
  const before = world.clock.now()
  await world.start(named(), { onEvent: telemetry.listener() })
  const [resolve, build, create] = ['resolve', 'build', 'create'].map((name) => byName(spans(), `warmbox.${name}`))
  expect(resolve?.attributes).toEqual({ 'warmbox.rung': 'built', 'warmbox.ref': REF, 'warmbox.outcome': 'booted' })
  expect(build?.attributes).toMatchObject({
    'warmbox.ref': REF,
    'warmbox.outcome': 'ready',
    'warmbox.background': false,
  })
  expect(create?.attributes).toMatchObject({ 'warmbox.rung': 'built', 'warmbox.outcome': 'created' })
  expect([build, create].map((span) => span?.parentSpanContext?.spanId)).toEqual(
    [resolve, resolve].map((span) => span?.spanContext().spanId),
  )
  expect(milliseconds(resolve?.startTime ?? [0, 0])).toBe(before)
  expect(milliseconds(resolve?.endTime ?? [0, 0])).toBe(world.clock.now())
  expect(milliseconds(build?.duration ?? [0, 0])).toBeGreaterThan(0)
  expect(resolve?.events.map(({ name, attributes }) => [name, attributes?.['warmbox.rung']])).toEqual([
    ['warmbox.rung', 'exact'],
    ['warmbox.rung', 'built'],
  ])
  expect((await counts()).toSorted()).toEqual([
    'warmbox.builds ready false: 1',
    'warmbox.creates built created: 1',
    'warmbox.resolutions built booted: 1',
    'warmbox.rungs built booted: 1',
    'warmbox.rungs exact missing: 1',
  ])
})

test('a stale start: the background build is a child that ends after its parent', async () => {
  const { counts, spans, telemetry, world } = traced()
  world.api.seed(STALE, 'ready')
  await world.start(named({ staleRef: STALE, buildTags: ['current'] }), { onEvent: telemetry.listener() })
  expect(spans().map(({ name }) => name)).toEqual(['warmbox.create', 'warmbox.resolve'])
  await settleBackgroundBuilds()
  const build = byName(spans(), 'warmbox.build')
  const resolve = byName(spans(), 'warmbox.resolve')
  expect(build.parentSpanContext?.spanId).toBe(resolve.spanContext().spanId)
  expect(build.attributes['warmbox.background']).toBe(true)
  expect(milliseconds(build.endTime)).toBeGreaterThan(milliseconds(resolve.endTime))
  expect(await counts()).toContain('warmbox.advances moved: 1')
})

test('a build of somebody else, joined and then taken over, is told and counted', async () => {
  const { counts, spans, telemetry, world } = traced()
  const left = world.api.seed(REF, 'waiting')
  await world.start(named(), { onEvent: telemetry.listener() })
  expect(byName(spans(), 'warmbox.resolve').events).toMatchObject([
    { name: 'warmbox.rung' },
    { name: 'warmbox.build-joined', attributes: { 'warmbox.build_id': left.id, 'warmbox.found_by': 'tag' } },
    { name: 'warmbox.build-taken-over', attributes: { 'warmbox.build_id': left.id } },
    { name: 'warmbox.rung' },
  ])
  expect(await counts()).toContain('warmbox.joins tag false: 1')
})

test('a build that several sessions of a process wait for is one span and one count, and the others join', async () => {
  const { counts, spans, telemetry, world } = traced()
  const heard: (readonly string[])[] = []
  await Promise.all(
    Array.from({ length: 3 }, async () => {
      const onEvent = telemetry.listener()
      const types: string[] = []
      heard.push(types)
      return world.start(named({ buildTags: ['current'] }), {
        onEvent: (event) => {
          if (event.type.startsWith('build-') || event.type === 'advance') types.push(event.type)
          onEvent(event)
        },
      })
    }),
  )
  await settleBackgroundBuilds()
  expect(world.api.builds).toHaveLength(1)
  expect(heard.map((types) => types.filter((type) => type !== 'build-log').toSorted())).toEqual([
    ['advance', 'build-end', 'build-start'],
    ['build-joined'],
    ['build-joined'],
  ])
  expect(heard.slice(1).flat()).not.toContain('build-log')
  expect(spans().filter(({ name }) => name === 'warmbox.build')).toHaveLength(1)
  expect(await counts()).toEqual(
    expect.arrayContaining([
      'warmbox.builds ready false: 1',
      'warmbox.joins process false: 2',
      'warmbox.advances moved: 1',
    ]),
  )
})

test('a stale start that joins the build another session waits for counts a join alone', async () => {
  const { counts, spans, telemetry, world } = traced()
  world.api.seed(STALE, 'ready')
  let stale: Promise<unknown> | undefined
  world.api.fault = ({ method }) => {
    if (method === 'buildProgress') {
      stale ??= world.start(named({ staleRef: STALE }), { onEvent: telemetry.listener() }).then(() => undefined)
    }
  }
  world.api.scripts.push({ end: 'never' })
  const controller = new AbortController()
  const waiting = rejection(world.start(named(), { onEvent: telemetry.listener(), signal: controller.signal }))
  await expect.poll(() => counts()).toContain('warmbox.joins process true: 1')
  expect(await counts()).not.toContainEqual(expect.stringContaining('warmbox.builds'))
  // Who began the build leaves, and the one that joined waits for it to the end.
  controller.abort(new Error('enough'))
  await waiting
  await stale
  const [running] = world.api.builds.filter(({ ref }) => ref === REF)
  if (running === undefined) throw new Error('A build runs')
  running.state = 'ready'
  await settleBackgroundBuilds()
  const builds = spans().filter(({ name }) => name === 'warmbox.build')
  const resolves = spans().filter(({ name }) => name === 'warmbox.resolve')
  const aborted = resolves.find(({ attributes }) => attributes['warmbox.outcome'] === 'aborted')
  expect(builds).toMatchObject([{ attributes: { 'warmbox.outcome': 'ready', 'warmbox.background': false } }])
  expect(builds[0]?.parentSpanContext?.spanId).toBe(aborted?.spanContext().spanId)
  expect(await counts()).toContain('warmbox.builds ready false: 1')
})

test('a failed start: its error and the failed build are errors of their spans', async () => {
  const { spans, telemetry, world } = traced()
  world.api.scripts.push({ end: { message: 'exit 1', step: '2' } })
  await rejection(world.start(named(), { boot: notFound, onEvent: telemetry.listener() }))
  const build = byName(spans(), 'warmbox.build')
  expect(build.status).toMatchObject({ code: SpanStatusCode.ERROR })
  expect(build.attributes['warmbox.step']).toBe('2')
  const resolve = byName(spans(), 'warmbox.resolve')
  expect(resolve.status).toMatchObject({ code: SpanStatusCode.ERROR })
  expect(resolve.attributes).toMatchObject({ 'warmbox.outcome': 'failed', 'warmbox.code': 'LADDER_EXHAUSTED' })
})

test('two sessions of one listener after each other: each with its own parts', async () => {
  const { spans, telemetry, world } = traced()
  const onEvent = telemetry.listener()
  await world.start(named(), { onEvent })
  await world.start(named(), { onEvent })
  const resolves = spans().filter(({ name }) => name === 'warmbox.resolve')
  const creates = spans().filter(({ name }) => name === 'warmbox.create')
  expect(creates.map((span) => span.parentSpanContext?.spanId)).toEqual(
    resolves.map((span) => span.spanContext().spanId),
  )
  expect(resolves.map(({ events }) => events.length)).toEqual([2, 1])
})

test('events of others pass unseen, and without an SDK everything is a no-op', async () => {
  const { counts, spans, telemetry } = traced()
  telemetry.listener()({ type: 'sandbox-created' })
  expect(spans()).toEqual([])
  expect(await counts()).toEqual([])
  const world = new World()
  expect((await world.start(named(), { onEvent: createResolutionTelemetry().listener() })).rung).toBe('built')
})
