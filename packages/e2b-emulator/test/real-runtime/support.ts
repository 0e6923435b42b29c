import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, vi } from 'vitest'
import type { Machine, ProcessExit, Runtime, SpawnOptions } from '../../src/runtime/port.ts'
import { createRealRuntime, probeNamespaces } from '../../src/runtime/real/index.ts'

export const namespaces = await probeNamespaces()
// Every command is several processes, and the machine the tests run on may be busy.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 })

export const isRoot = process.getuid?.() === 0

/** A suite that needs namespaces; where the host has none its name says why it was skipped. */
export function describeReal(name: string, body: () => void): void {
  const reason = namespaces.available ? '' : ` (skipped: ${namespaces.reason})`
  describe.skipIf(!namespaces.available)(`${name}${reason}`, () => {
    body()
  })
}

export interface Bench {
  readonly dataDirectory: string
  readonly runtime: Runtime
  /** The machine of the suite, for tests that leave it as it is. */
  readonly shared: () => Promise<Machine>
  /** A new machine of `image`, or of the base image. */
  readonly machine: (image?: string, hostname?: string) => Promise<Machine>
}

/** One runtime for a suite; its end proves that nothing is left in its directory. */
export function useRuntime(): () => Bench {
  let bench: Bench | undefined
  beforeAll(async () => {
    const dataDirectory = mkdtempSync(join(tmpdir(), 'warmbox-real-'))
    const runtime = await createRealRuntime({ dataDirectory, certificateAuthorities: [authority] })
    let count = 0
    const machine: Bench['machine'] = async (image, hostname = 'box') =>
      runtime.createMachine(image ?? (await runtime.baseImage('e2bdev/base')), { id: `m${count++}`, hostname })
    let shared: Promise<Machine> | undefined
    bench = { dataDirectory, runtime, machine, shared: () => (shared ??= machine()) }
  })
  afterAll(async () => {
    if (bench === undefined) return
    try {
      await bench.runtime.close()
      expect(readdirSync(bench.dataDirectory)).toEqual([])
    } finally {
      rmSync(bench.dataDirectory, { recursive: true, force: true })
    }
  })
  return () => {
    if (bench === undefined) throw new Error('the runtime is not there yet')
    return bench
  }
}

export const authority = '-----BEGIN CERTIFICATE-----\nd2FybWJveCB0ZXN0IGF1dGhvcml0eQ==\n-----END CERTIFICATE-----'

export interface Ran {
  readonly stdout: string
  readonly stderr: string
  readonly exit: ProcessExit
}

/** Runs a command line as the platform does and collects what it wrote. */
export async function run(machine: Machine, command: string, options: Partial<SpawnOptions> = {}): Promise<Ran> {
  const process = await machine.spawn({
    command: '/bin/bash',
    args: ['-l', '-c', command],
    user: 'user',
    env: {},
    stdin: false,
    ...options,
  })
  const written = { stdout: '', stderr: '' }
  const decoders = { stdout: new TextDecoder(), stderr: new TextDecoder() }
  process.onOutput(({ stream, data }) => {
    if (stream !== 'pty') written[stream] += decoders[stream].decode(data, { stream: true })
  })
  const exit = await process.exit
  return { ...written, exit }
}

/** Standard output of a command that must succeed. */
export async function output(machine: Machine, command: string, options: Partial<SpawnOptions> = {}): Promise<string> {
  const ran = await run(machine, command, options)
  if (ran.exit.exitCode !== 0) throw new Error(`${command}: ${ran.exit.status}\n${ran.stderr}`)
  return ran.stdout.trimEnd()
}

/** Has root inside kill everything it can reach; what it starts with runs first, in the same shell. */
export async function killAllInside(machine: Machine, first = 'true'): Promise<ProcessExit> {
  // It waits for a line, so that the machine can still tell that it started.
  const killer = await machine.spawn({
    command: 'bash',
    args: ['-c', `read -r _; ${first}; kill -9 -1`],
    user: 'root',
    env: {},
    stdin: true,
  })
  // The machine may be gone before it can confirm the line.
  await Promise.allSettled([killer.write(new TextEncoder().encode('go\n'))])
  return killer.exit
}

/** The base image after these commands, each of them an image over that of the one before, as a build makes them. */
export async function imageAfter(
  runtime: Runtime,
  steps: readonly string[],
  machineOf: (image: string) => Promise<Machine>,
): Promise<string> {
  let image = await runtime.baseImage('e2bdev/base')
  for (const step of steps) {
    const builder = await machineOf(image)
    await output(builder, step)
    const next = await builder.snapshot()
    await builder.destroy()
    await runtime.deleteImage(image)
    image = next
  }
  return image
}

export const streamOf = (text: string | Uint8Array): ReadableStream<Uint8Array> =>
  new ReadableStream({
    start: (controller) => {
      controller.enqueue(typeof text === 'string' ? new TextEncoder().encode(text) : text)
      controller.close()
    },
  })

export const textOf = (stream: ReadableStream<Uint8Array>): Promise<string> => new Response(stream).text()

/** Polls until `read` answers `expected`, every `interval` milliseconds. */
export const eventually = async <Value>(
  read: () => Value | Promise<Value>,
  expected: Value,
  interval = 50,
): Promise<void> => {
  await vi.waitFor(async () => expect(await read()).toEqual(expected), { timeout: 60_000, interval })
}
