import type { BuildEnvValue } from '@warmbox/identity'

import { fail } from './error.ts'
import { plain } from './plain.ts'
import { disagreement } from './record-agreement.ts'
import type { Recorded } from './recorded.ts'

const VERSION = 1

/** The text of a record's file. */
export const writeRecord = (recorded: Recorded): string =>
  `${JSON.stringify({ record: VERSION, ...recorded }, null, 2)}\n`

/**
 * Reads a record.
 *
 * @throws ImageTagError `RECORD_INVALID` by the name of its `file`, whose text is quoted nowhere: for another shape, and where
 * its parts do not belong together.
 */
export function readRecord(text: string, file: string): Recorded {
  try {
    const recorded = recordedIn(text)
    const flaw = disagreement(recorded)
    if (flaw !== undefined) throw new Flaw(flaw)
    return recorded
  } catch (error) {
    if (!(error instanceof Flaw)) throw error
    return fail('RECORD_INVALID', `${plain(file)} is no record: ${error.message}.`, 'Write one by --record <file>.')
  }
}

/** What makes a text no record. */
class Flaw extends Error {}

const invalid = (field: string, expected: string): never => {
  throw new Flaw(`${field} is not ${expected}`)
}

const recordedIn = (text: string): Recorded => {
  const record = object(parse(text), 'record')
  if (record['record'] !== VERSION) invalid('record', `${VERSION}, which is all this version reads`)
  const identity = object(record['identity'], 'identity')
  const { workingDirectory } = identity
  return {
    image: string(record['image'], 'image'),
    hash: string(record['hash'], 'hash'),
    scheme: number(record['scheme'], 'scheme'),
    prefix: string(record['prefix'], 'prefix'),
    changes: record['changes'] === undefined ? undefined : string(record['changes'], 'changes'),
    identity: {
      cloneUrl: string(identity['cloneUrl'], 'cloneUrl'),
      sha: string(identity['sha'], 'sha'),
      setupCommand: strings(identity['setupCommand'], 'setupCommand'),
      buildEnv: entries(identity['buildEnv'], 'buildEnv', version),
      cpuCount: number(identity['cpuCount'], 'cpuCount'),
      memoryMB: number(identity['memoryMB'], 'memoryMB'),
      ...(workingDirectory === undefined ? {} : { workingDirectory: string(workingDirectory, 'workingDirectory') }),
      submodules: boolean(identity['submodules'], 'submodules'),
      lfs: boolean(identity['lfs'], 'lfs'),
      baseTemplateId: string(identity['baseTemplateId'], 'baseTemplateId'),
      extra: entries(identity['extra'], 'extra', string),
    },
    hiddenEnv: strings(record['hiddenEnv'], 'hiddenEnv'),
    salted: boolean(record['salted'], 'salted'),
  }
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    // The parser's message quotes the file, which may be any file.
    return invalid('its text', 'JSON')
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const object = (value: unknown, field: string): Readonly<Record<string, unknown>> =>
  isObject(value) ? value : invalid(field, 'an object')

const string = (value: unknown, field: string): string => (typeof value === 'string' ? value : invalid(field, 'a text'))

const number = (value: unknown, field: string): number =>
  typeof value === 'number' ? value : invalid(field, 'a number')

const boolean = (value: unknown, field: string): boolean =>
  typeof value === 'boolean' ? value : invalid(field, 'true or false')

const strings = (value: unknown, field: string): readonly string[] =>
  Array.isArray(value) ? value.map((entry: unknown) => string(entry, field)) : invalid(field, 'a list')

const version = (value: unknown, field: string): BuildEnvValue => ({
  value: '',
  version: string(object(value, field)['version'], field),
})

const entries = <Value>(
  value: unknown,
  field: string,
  read: (value: unknown, field: string) => Value,
): Readonly<Record<string, Value>> =>
  Object.fromEntries(Object.entries(object(value, field)).map(([key, entry]) => [key, read(entry, field)]))
