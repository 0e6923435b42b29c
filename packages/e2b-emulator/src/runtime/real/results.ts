import type {
  AgentCalls,
  AgentEvent,
  AgentFailure,
  AgentFileEntry,
  AgentMethod,
  AgentReply,
  LoopbackAddress,
} from './agent/contract.ts'
import { RuntimeError, type MachineUsage, type RuntimeErrorCode } from '../port.ts'
import { SystemError } from '../system-errors.ts'

/**
 * What comes out of a machine is checked: its root user can reach the program that answers, and must not be able to
 * hand the host a value of another shape.
 */
type ResultChecks = { [Method in AgentMethod]: (value: unknown) => value is AgentCalls[Method]['result'] }

const isNull = (value: unknown): value is null => value === null
const isString = (value: unknown): value is string => typeof value === 'string'
const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)
const isBoolean = (value: unknown): value is boolean => typeof value === 'boolean'

const has = <Key extends string, Value>(
  value: unknown,
  key: Key,
  check: (found: unknown) => found is Value,
): value is Record<Key, Value> =>
  typeof value === 'object' && value !== null && key in value && check(Reflect.get(value, key))

const either =
  <A, B>(a: (value: unknown) => value is A, b: (value: unknown) => value is B) =>
  (value: unknown): value is A | B =>
    a(value) || b(value)

const oneOf =
  <Value extends string>(allowed: Readonly<Record<Value, true>>) =>
  (value: unknown): value is Value =>
    typeof value === 'string' && Object.hasOwn(allowed, value)

const isTexts = (value: unknown): value is Record<string, string> =>
  typeof value === 'object' && value !== null && Object.values(value).every(isString)

const isEntryType = oneOf<AgentFileEntry['type']>({ file: true, directory: true, other: true })

const isEntry = (value: unknown): value is AgentFileEntry =>
  has(value, 'name', isString) &&
  has(value, 'path', isString) &&
  has(value, 'type', isEntryType) &&
  has(value, 'size', isNumber) &&
  has(value, 'mode', isNumber) &&
  has(value, 'owner', isString) &&
  has(value, 'group', isString) &&
  has(value, 'modifiedMs', isNumber) &&
  has(value, 'symlinkTarget', either(isString, isNull)) &&
  has(value, 'metadata', isTexts)

const isUsage = (value: unknown): value is MachineUsage =>
  has(value, 'cpuTimeMs', isNumber) &&
  has(value, 'memoryBytes', isNumber) &&
  has(
    value,
    'disk',
    (disk): disk is MachineUsage['disk'] => has(disk, 'usedBytes', isNumber) && has(disk, 'totalBytes', isNumber),
  )

const isLoopbackAddress = oneOf<LoopbackAddress>({ '127.0.0.1': true, '::1': true })

export const resultChecks: ResultChecks = {
  spawn: (value): value is { pid: number } => has(value, 'pid', isNumber),
  ping: isNull,
  prepare: isNull,
  signal: isNull,
  resize: isNull,
  freeze: isNull,
  thaw: isNull,
  stat: isEntry,
  list: (value): value is readonly AgentFileEntry[] => Array.isArray(value) && value.every(isEntry),
  makeDirectory: isBoolean,
  move: isEntry,
  remove: isNull,
  homeOf: isString,
  read: isNull,
  write: isEntry,
  concatenate: isEntry,
  unpack: isNull,
  usage: isUsage,
  watch: isNull,
  own: isNull,
  listener: either(isLoopbackAddress, isNull),
}

const isCode = oneOf<RuntimeErrorCode>({
  'user-unknown': true,
  'directory-missing': true,
  'command-missing': true,
  'not-scripted': true,
  'not-found': true,
  'is-directory': true,
  'not-directory': true,
  exists: true,
  'no-space': true,
  'port-closed': true,
  unsupported: true,
  gone: true,
  failed: true,
})

const isFailure = (value: unknown): value is AgentFailure =>
  (has(value, 'code', isCode) && has(value, 'message', isString)) ||
  (has(value, 'system', isString) && has(value, 'attempt', isString))

/** A failure inside as the host's callers get it. */
export const failureOf = (failure: AgentFailure): RuntimeError =>
  'system' in failure
    ? new SystemError(failure.system, failure.attempt)
    : new RuntimeError(failure.code, failure.message)

const literal =
  <Value extends string | boolean>(expected: Value) =>
  (value: unknown): value is Value =>
    value === expected

export const isReply = (value: unknown): value is AgentReply =>
  has(value, 'ok', literal(true))
    ? 'result' in value
    : has(value, 'ok', literal(false)) && has(value, 'failure', isFailure)

const isChange = oneOf({ create: true, write: true, remove: true, rename: true, chmod: true })

export const isEvent = (value: unknown): value is AgentEvent =>
  (has(value, 'type', literal('exit')) &&
    has(value, 'code', either(isNumber, isNull)) &&
    has(value, 'signal', either(isString, isNull))) ||
  has(value, 'type', literal('input-closed')) ||
  (has(value, 'type', literal('failed')) && has(value, 'failure', isFailure)) ||
  (has(value, 'type', literal('change')) && has(value, 'name', isString) && has(value, 'change', isChange))
