import type { BuildEnvValue } from '@warmbox/identity'

import { ONCE, parseCommandLine } from './command-line.ts'
import { fail } from './error.ts'
import { insideCheckout } from './hashed-files.ts'
import { parsePrefix, type Prefix } from './image-reference.ts'
import { plain } from './plain.ts'

/** The command line and what it names in the environment, complete. */
export interface Options {
  readonly checkout: string
  /** `undefined`: the remote's. */
  readonly url: string | undefined
  /** `undefined`: after the repository. */
  readonly prefix: Prefix | undefined
  readonly inputs: GivenInputs
  /** `undefined`: the lockfiles found. */
  readonly files: readonly string[] | undefined
  readonly json: boolean
  readonly record: string | undefined
  readonly against: string | undefined
}

/** Inputs of the hash that are given, not found in the checkout. */
export interface GivenInputs {
  readonly setup: readonly string[]
  readonly env: Readonly<Record<string, BuildEnvValue>>
  readonly base: string | undefined
  readonly extra: Readonly<Record<string, string>>
  readonly cpuCount: number | undefined
  readonly memoryMB: number | undefined
  readonly workingDirectory: string | undefined
  readonly submodules: boolean
  readonly lfs: boolean
  readonly salt: string
}

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Reads the command line, and of the environment the variables it names.
 *
 * @throws ImageTagError `USAGE` or `PREFIX_INVALID`
 */
export function readOptions(args: readonly string[], environment: Environment): Options | 'help' | 'version' {
  for (const argument of args) refuseLost('An argument', argument)
  const { values, positionals } = parseCommandLine(args)
  if (values.help === true) return 'help'
  if (values.version === true) return 'version'
  if (positionals.length > 1) fail('USAGE', 'More than one checkout was given.', 'Give the second one by --against.')
  if (positionals[0] === '') fail('USAGE', 'The checkout is an empty text.', 'Leave it out for the current directory.')
  for (const [name, value] of Object.entries(values)) {
    if (value === '') fail('USAGE', `--${name} is empty.`, 'Write something, or leave it out.')
  }
  return Object.freeze({
    checkout: positionals[0] ?? '.',
    url: values.url,
    prefix: values.prefix === undefined ? undefined : parsePrefix(values.prefix),
    inputs: Object.freeze({
      setup: values.setup ?? [],
      env: readEnv(values.env ?? [], environment),
      base: values.base,
      extra: readExtra(values.extra ?? []),
      cpuCount: wholeNumber('cpu', values.cpu),
      memoryMB: wholeNumber('memory', values.memory),
      workingDirectory: values.workdir,
      submodules: values.submodules === true,
      lfs: values.lfs === true,
      salt: values['salt-env'] === undefined ? '' : readSalt(values['salt-env'], environment),
    }),
    files: values.file?.map(insideCheckout),
    json: values.json === true,
    record: values.record,
    against: values.against,
  })
}

const readEnv = (given: readonly string[], environment: Environment): Readonly<Record<string, BuildEnvValue>> => {
  const env = new Map<string, BuildEnvValue>()
  for (const entry of given) {
    const [name, version] = cut(entry, '=')
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
      fail('USAGE', '--env takes the name of a variable.', 'Write it of letters, digits and _, no digit first.')
    }
    if (version !== undefined && !/^@./.test(version)) {
      const hint = `Write --env ${name} to take the value from the environment, or --env ${name}=@<version>.`
      fail('USAGE', `--env ${name} takes no value: arguments can be read by other users and end up in logs.`, hint)
    }
    if (env.has(name)) fail('USAGE', `--env ${name} was given twice.`, ONCE)
    // The value plays no part beside a version, so that a name can be computed where the token is not known.
    env.set(name, version === undefined ? readVariable(name, environment) : { value: '', version: version.slice(1) })
  }
  return Object.fromEntries(env)
}

const readVariable = (name: string, environment: Environment): string =>
  lookUp(name, environment) ??
  fail('USAGE', `--env ${name}: the environment has no such variable.`, `Set it, or write --env ${name}=@<version>.`)

const readSalt = (name: string, environment: Environment): string =>
  // A salt that is missing by mistake would name an image as if none had been asked for.
  lookUp(name, environment) ||
  fail('USAGE', `--salt-env ${plain(name)}: the environment has no such variable, or an empty one.`, 'Set it.')

/** Only what was set: an environment inherits names such as `constructor`. */
const lookUp = (name: string, environment: Environment): string | undefined => {
  const value = Object.hasOwn(environment, name) ? environment[name] : undefined
  refuseLost(`The value of ${name}`, value ?? '')
  return value
}

/** Node reads bytes that are no UTF-8 as this character: different ones would be the same input. */
const LOST = '\uFFFD'

const refuseLost = (what: string, text: string): void => {
  if (text.includes(LOST)) fail('USAGE', `${what} is not UTF-8.`, 'Write it in UTF-8, without U+FFFD.')
}

const readExtra = (given: readonly string[]): Readonly<Record<string, string>> => {
  const extra = new Map<string, string>()
  for (const entry of given) {
    const [key, value] = cut(entry, '=')
    if (value === undefined || key === '')
      fail('USAGE', '--extra takes <key>=<text>.', 'Write it like --extra os=linux.')
    if (extra.has(key)) fail('USAGE', `--extra ${plain(key)} was given twice.`, ONCE)
    extra.set(key, value)
  }
  return Object.fromEntries(extra)
}

const wholeNumber = (option: string, given: string | undefined): number | undefined => {
  if (given !== undefined && !/^[0-9]{1,9}$/.test(given))
    fail('USAGE', `--${option} takes a whole number.`, `Write it like --${option} ${option === 'cpu' ? 4 : 2048}.`)
  return given === undefined ? undefined : Number(given)
}

const cut = (text: string, separator: string): readonly [before: string, after: string | undefined] => {
  const at = text.indexOf(separator)
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)]
}
