import { EmulatorError } from '../../errors.ts'
import { isRecord } from '../../is-record.ts'
import { unknownName } from '../../known-names.ts'
import { ENVD_PORT } from '../../platform/machine-facts.ts'
import type { ScriptedCommand, ScriptedResult, ScriptedRuntimeOptions } from './table.ts'

const optionNames: readonly string[] = [
  'commands',
  'ports',
  'unscriptedBuildSteps',
  'now',
] satisfies (keyof ScriptedRuntimeOptions)[]
const commandFields: readonly string[] = ['match', 'answer'] satisfies (keyof ScriptedCommand)[]
const resultFields: readonly string[] = ['stdout', 'stderr', 'exitCode'] satisfies (keyof ScriptedResult)[]
const portFields: readonly string[] = ['port', 'answer', 'accept']

const isText = (value: unknown): value is string => typeof value === 'string'
const isFunction = (value: unknown): boolean => typeof value === 'function'

/** Throws `INVALID_OPTION`, naming the row, for what a table cannot mean. */
export function assertScriptedOptions(options: unknown): asserts options is ScriptedRuntimeOptions {
  if (!isRecord(options)) throw invalid('the options of a scripted runtime must be an object')
  const unknown = unknownName(options, optionNames)
  if (unknown !== undefined) {
    throw invalid(
      `there is no option ${unknown.name} of a scripted runtime`,
      unknown.guess ?? `The options are ${optionNames.join(', ')}.`,
    )
  }
  const { commands, ports, unscriptedBuildSteps, now } = options
  assertRows('commands', commands, problemOfCommand, "{ match: 'npm test', answer: { stdout: 'ok', exitCode: 0 } }")
  const taken = new Set<unknown>()
  assertRows('ports', ports, (row) => problemOfPort(row, taken), "{ port: 3000, answer: () => new Response('hello') }")
  if (unscriptedBuildSteps !== undefined && unscriptedBuildSteps !== 'succeed' && unscriptedBuildSteps !== 'refuse') {
    throw invalid("unscriptedBuildSteps must be 'succeed' or 'refuse'")
  }
  if (now !== undefined && !isFunction(now)) throw invalid('now must be a function that returns a date')
}

/** What is wrong with the answer of a row, as the rest of "the answer"; undefined where it can be given. */
export function problemOfResult(result: unknown): string | undefined {
  if (!isRecord(result)) return 'is an object with stdout, stderr and exitCode'
  const unknown = unknownName(result, resultFields)
  if (unknown !== undefined) return `has no field ${unknown.name}, only ${resultFields.join(', ')}`
  const { stdout = '', stderr = '', exitCode = 0 } = result
  if (!isText(stdout)) return 'has a stdout that is a string'
  if (!isText(stderr)) return 'has a stderr that is a string'
  const isExitCode = Number.isInteger(exitCode) && Number(exitCode) >= 0 && Number(exitCode) <= 255
  return isExitCode ? undefined : 'has an exitCode that is a whole number from 0 to 255'
}

function assertRows(
  name: 'commands' | 'ports',
  rows: unknown,
  problemOf: (row: unknown) => string | undefined,
  example: string,
): void {
  if (rows === undefined) return
  if (!Array.isArray(rows)) throw invalid(`${name} must be a list of rows`, `A row is ${example}.`)
  for (const [index, row] of rows.entries()) {
    const problem = problemOf(row)
    if (problem !== undefined) throw invalid(`${name}[${index}] is no row: ${problem}`, `A row is ${example}.`)
  }
}

function problemOfCommand(row: unknown): string | undefined {
  if (!isRecord(row)) return 'a row is an object'
  const unknown = unknownName(row, commandFields)
  if (unknown !== undefined) return `a row has no field ${unknown.name}, only ${commandFields.join(', ')}`
  const { match, answer } = row
  if (!(isText(match) || match instanceof RegExp)) return 'match is a string or a pattern'
  if (isFunction(answer)) return undefined
  const problem = problemOfResult(answer)
  return problem === undefined ? undefined : `the answer ${problem}, or is a function`
}

/** `taken` is added to: the ports of the rows before. */
function problemOfPort(row: unknown, taken: Set<unknown>): string | undefined {
  if (!isRecord(row)) return 'a row is an object'
  const unknown = unknownName(row, portFields)
  if (unknown !== undefined) return `a row has no field ${unknown.name}, only ${portFields.join(', ')}`
  const { port, answer, accept } = row
  if (!(Number.isInteger(port) && Number(port) >= 1 && Number(port) <= 65_535)) {
    return 'port is a whole number from 1 to 65535'
  }
  if (port === ENVD_PORT) return `port ${ENVD_PORT} is the daemon's own`
  if (taken.has(port)) return `port ${String(port)} has a row already`
  taken.add(port)
  const given = [answer, accept].filter((handler) => handler !== undefined)
  return given.length === 1 && given.every(isFunction) ? undefined : 'one of answer and accept is a function'
}

const invalid = (message: string, hint?: string) =>
  new EmulatorError('INVALID_OPTION', message, hint === undefined ? {} : { hint })
