/**
 * What the real runtime costs through the unmodified SDK: p50 in milliseconds, of one run. Prints a table, then one JSON
 * object. Where this machine allows no namespaces there is nothing to measure, and the object is empty.
 *
 * - `overlayCreateMs`: a sandbox of a template of 5,000 files, a moment after the last one was killed;
 *   `overlayCreateChangingMs`: the same where the last one was of another template, so that nothing was prepared;
 *   `overlayCreateUnprivilegedMs`: as the first, by a user of the host without privileges; `copyCreateMs`: without overlays.
 * - `emulatorCreateKillMs`: create and kill of that sandbox, likewise; `emulatorFirstCommandMs`, `emulatorFileWriteMs`.
 * - `emulatorCommandRatio`: the login shell that runs `true` for the SDK, over the same started by a Node inside the machine.
 */
import { execFile } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Sandbox } from 'e2b'
import type { EmulatorConnection } from '@warmbox/e2b-emulator'
import { probeNamespaces } from '../src/runtime/real/index.ts'
import { creation, pauseMs } from './creation.ts'
import { median, sample } from './sampling.ts'
import { templates, withEmulator } from './subject.ts'

const isRoot = process.getuid?.() === 0
const probe = await probeNamespaces()
const figures = probe.available ? await measure() : {}
if (!probe.available) console.log(`nothing measured: ${probe.reason}`)
for (const [name, value] of Object.entries(figures)) console.log(`${name.padEnd(30)} ${value}`)
console.log(JSON.stringify(figures))

async function measure(): Promise<Record<string, number>> {
  const onOverlays = await withEmulator(undefined, async (connection) => ({
    ...(isRoot ? {} : { overlayCreateUnprivilegedMs: await creation(connection, { rounds: 14 }) }),
    ...(isRoot ? { overlayCreateMs: await creation(connection, { rounds: 14 }) } : {}),
    overlayCreateChangingMs: await creation(connection, { rounds: 10, changing: true }),
    ...(await everydayFigures(connection)),
  }))
  const copyCreateMs = await withEmulator('copy', (connection) => creation(connection, { rounds: 6 }))
  return {
    ...onOverlays,
    copyCreateMs,
    ...(isRoot ? { overlayCreateUnprivilegedMs: await asNobody() } : {}),
  }
}

async function everydayFigures(connection: EmulatorConnection): Promise<Record<string, number>> {
  const createKill = await sample(
    12,
    async () => (await Sandbox.create(templates[0], connection)).kill(),
    () => pause(pauseMs),
  )
  let sandbox = await Sandbox.create(templates[0], connection)
  const firstCommand = await sample(
    10,
    () => sandbox.commands.run('true'),
    async () => {
      await sandbox.kill()
      await pause(pauseMs)
      sandbox = await Sandbox.create(templates[0], connection)
    },
  )
  const fileWrite = await sample(40, (round) => sandbox.files.write(`/home/user/written-${round}`, 'a line of text\n'))
  // Alternating, so that a busy machine slows both alike.
  const ratios: number[] = []
  for (let round = 0; round < 5; round += 1) {
    const command = median(await sample(20, () => sandbox.commands.run('true')))
    ratios.push(command / (await spawnedDirectly(sandbox)))
  }
  await sandbox.kill()
  return {
    emulatorCreateKillMs: median(createKill.slice(1)),
    emulatorFirstCommandMs: median(firstCommand),
    emulatorFileWriteMs: median(fileWrite),
    emulatorCommandRatio: median(ratios),
  }
}

/** p50 of the command line that `commands.run('true')` is, started by a program in the machine and waited for. */
async function spawnedDirectly(sandbox: Sandbox): Promise<number> {
  const program = `
    const { spawn } = require("node:child_process")
    const once = () => new Promise((resolve) => {
      const start = performance.now()
      const child = spawn("/bin/bash", ["-l", "-c", "true"], { stdio: ["ignore", "pipe", "pipe"] })
      child.stdout.resume()
      child.stderr.resume()
      child.once("close", () => resolve(performance.now() - start))
    })
    const run = async () => {
      const times = []
      for (let round = 0; round < 20; round++) times.push(await once())
      console.log(times.sort((a, b) => a - b)[10])
    }
    run()`
  const { stdout } = await sandbox.commands.run(`node -e '${program}'`)
  return Number(stdout)
}

async function asNobody(): Promise<number> {
  const { stdout } = await promisify(execFile)(
    'setpriv',
    [
      '--reuid',
      '65534',
      '--regid',
      '65534',
      '--clear-groups',
      '--',
      process.execPath,
      '--conditions=@warmbox/source',
      fileURLToPath(new URL('unprivileged.ts', import.meta.url)),
    ],
    { cwd: '/', env: { PATH: process.env['PATH'] ?? '', HOME: '/' } },
  )
  return Number(stdout)
}
