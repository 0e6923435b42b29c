import { posix } from 'node:path'
import type { Schemas } from '../platform/contract.ts'
import type { BuildContext } from '../platform/state.ts'
import { RuntimeError, type MachineFiles } from '../runtime/port.ts'
import { BuildFailure } from './build-failure.ts'
import { asContext, asRoot, runCommand, type BuildMachine } from './command.ts'
import { findCopySource, type CopySource } from './copy-archive.ts'

export interface StepInput {
  readonly build: BuildMachine
  readonly args: readonly string[]
  readonly context: BuildContext
  /** The uploaded archive of a COPY step on the host. */
  readonly upload: string | undefined
}

export interface StepOutcome {
  /** What later steps see. */
  readonly context: BuildContext
  /** False where no file of the machine can have changed. */
  readonly touched: boolean
}

type Step = (input: StepInput) => Promise<StepOutcome>

const isAccountName = (name: string) => /^[a-z_][a-z0-9_-]*\$?$/i.test(name)

const STEPS: Readonly<Record<string, Step>> = {
  RUN: run,
  COPY: copy,
  ADD: copy,
  WORKDIR: workdir,
  USER: user,
  ENV: env,
  ARG: env,
}

/** Carries out one step. Throws {@link BuildFailure}. */
export async function executeStep(step: Schemas['TemplateStep'], input: Omit<StepInput, 'args'>): Promise<StepOutcome> {
  const execute = STEPS[step.type.toUpperCase()]
  if (execute === undefined) throw new BuildFailure(`command type ${step.type} is not implemented`)
  return execute({ ...input, args: step.args ?? [] })
}

async function run({ build, args: [command, asUser], context }: StepInput): Promise<StepOutcome> {
  if (command === undefined) throw new BuildFailure('RUN requires command argument')
  const end = await runCommand(build, {
    ...asContext(context),
    command,
    user: asUser === undefined || asUser === '' ? context.user : asUser,
  })
  if (!end.ok) throw new BuildFailure(`failed to run command '${command}': ${end.status}`)
  return { context, touched: true }
}

async function copy({ build, args, context, upload }: StepInput): Promise<StepOutcome> {
  const [source, destination, owner, mode] = args
  if (source === undefined || destination === undefined) throw new BuildFailure('COPY requires source and destination')
  if (upload === undefined) throw new BuildFailure(`files of COPY ${source} ${destination} were not uploaded`)
  const brought = await findCopySource(upload, source)
  if (brought === undefined) throw new BuildFailure(`source path does not exist: ${source}`)
  const { files } = build.machine
  const base = context.workdir ?? (await files.homeOf(context.user))
  const place = await placeOf(files, brought, destination, posix.resolve(base, destination))
  // Only what was brought gets owner and mode; what leads there is root's, and what is there stays as it is.
  await files.makeDirectory(place.directory, 'root')
  await files.unpack(await brought.archiveAs(place.name), place.directory, {
    owner: owner === undefined || owner === '' ? context.user : owner,
    ...(mode === undefined || mode === '' ? {} : { mode: Number.parseInt(mode, 8) }),
  })
  return { context, touched: true }
}

interface CopyPlace {
  readonly directory: string
  /** Of a file in it. */
  readonly name: string
}

/**
 * Where a COPY puts things: a directory's contents into the destination; a file into it where it ends like a directory or
 * is one, else in its place.
 */
async function placeOf(
  files: MachineFiles,
  { name, isDirectory }: CopySource,
  destination: string,
  target: string,
): Promise<CopyPlace> {
  const isInto = isDirectory || /(?:^|\/)\.{0,2}$/.test(destination) || (await isDirectoryAt(files, target))
  return isInto ? { directory: target, name } : { directory: posix.dirname(target), name: posix.basename(target) }
}

async function isDirectoryAt(files: MachineFiles, path: string): Promise<boolean> {
  try {
    return (await files.stat(path)).type === 'directory'
  } catch (error) {
    // Whatever else is wrong with the path, making its parents will say.
    if (error instanceof RuntimeError) return false
    throw error
  }
}

async function workdir({ build, args: [path], context }: StepInput): Promise<StepOutcome> {
  if (path === undefined) throw new BuildFailure('WORKDIR requires a path argument')
  const absolute = posix.resolve(context.workdir ?? '/', path)
  const touched = await build.machine.files.makeDirectory(absolute, context.user)
  return { context: { ...context, workdir: absolute }, touched }
}

async function user({ build, args: [name, sudo], context }: StepInput): Promise<StepOutcome> {
  if (name === undefined) throw new BuildFailure('USER requires a username argument')
  if (!isAccountName(name)) throw new BuildFailure(`failed to create user: invalid name ${name}`)
  const isNew = !(await userExists(build, name))
  if (isNew) {
    const end = await runCommand(build, { ...asRoot, command: `useradd -m -s /bin/bash ${name}` })
    if (!end.ok) throw new BuildFailure(`failed to create user: ${end.status}`)
  }
  const isAllowed = sudo === 'true' && (await allowSudo(build.machine.files, name))
  return { context: { ...context, user: name }, touched: isNew || isAllowed }
}

async function userExists(build: BuildMachine, name: string): Promise<boolean> {
  try {
    await build.machine.files.homeOf(name)
    return true
  } catch (error) {
    if (error instanceof RuntimeError && error.code === 'user-unknown') return false
    throw error
  }
}

const SUDOERS_MODE = 0o440

/** Answers whether anything was to be done: every build begins with this, most of them where another has ended. */
async function allowSudo(files: MachineFiles, name: string): Promise<boolean> {
  const path = `/etc/sudoers.d/${name}`
  const rule = `${name} ALL=(ALL:ALL) NOPASSWD: ALL\n`
  if (await isFileOf(files, path, rule)) return false
  await files.write(path, new Blob([rule]).stream(), 'root', { mode: SUDOERS_MODE })
  return true
}

async function isFileOf(files: MachineFiles, path: string, content: string): Promise<boolean> {
  try {
    const { mode, owner, size } = await files.stat(path)
    if (mode !== SUDOERS_MODE || owner !== 'root' || size !== content.length) return false
    return (await new Response(await files.read(path)).text()) === content
  } catch (error) {
    // Whatever is wrong with it, writing it will say.
    if (error instanceof RuntimeError) return false
    throw error
  }
}

async function env({ build, args, context }: StepInput): Promise<StepOutcome> {
  if (args.length === 0) throw new BuildFailure('ENV does not support passing no arguments')
  if (args.length % 2 !== 0) throw new BuildFailure('ENV requires both a key and value arguments')
  const values: Record<string, string> = { ...context.env }
  for (let index = 0; index < args.length; index += 2) {
    values[args[index] ?? ''] = await expand(build, args[index + 1] ?? '')
  }
  return { context: { ...context, env: values }, touched: false }
}

/**
 * `$NAME` is expanded once, by a login shell of root that knows none of the earlier ENVs; command substitution is inert.
 * Without a `$` the shell would return the value as it is.
 */
async function expand(build: BuildMachine, value: string): Promise<string> {
  if (!value.includes('$')) return value
  const quoted = value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('`', '\\`').replaceAll('$(', '\\$(')
  const expanded: Uint8Array[] = []
  const end = await runCommand(build, {
    ...asRoot,
    command: `printf "%s" "${quoted}"`,
    onOutput: ({ stream, data }) => {
      if (stream === 'stdout') expanded.push(data)
    },
  })
  if (!end.ok) throw new BuildFailure(`failed to evaluate environment variable: ${end.status}`)
  return Buffer.concat(expanded).toString()
}
