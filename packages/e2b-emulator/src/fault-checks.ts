import type { FaultEffect, Plane } from './fault.ts'
import { isRecord } from './is-record.ts'

const planes: readonly unknown[] = ['control', 'envd', 'port'] satisfies Plane[]
const fields: readonly string[] = ['match', 'skip', 'times', 'probability', 'effect']

/** What is wrong with a fault, as the rest of "a fault"; undefined where it could be meant. */
export function problemOfFault(fault: unknown): string | undefined {
  if (!isRecord(fault)) return 'is an object'
  const unknown = Object.keys(fault).find((name) => !fields.includes(name))
  if (unknown !== undefined) return `has no field ${JSON.stringify(unknown)}`
  const { match, skip = 0, times = 1, probability = 1, effect } = fault
  if (!isCount(skip)) return 'skips a whole number of requests, 0 or more'
  if (!(isCount(times) || times === Infinity)) return 'strikes a whole number of times, 0 or more, or Infinity'
  if (!(typeof probability === 'number' && probability > 0 && probability <= 1)) {
    return 'has a probability above 0 and up to 1'
  }
  return problemOfMatch(match) ?? problemOfEffect(effect)
}

function problemOfMatch(match: unknown): string | undefined {
  if (!isRecord(match)) return 'says what it matches: {} is everything'
  const { method, path, plane, ...others } = match
  if (Object.keys(others).length > 0) return 'matches by method, path and plane only'
  if (!(method === undefined || typeof method === 'string')) return 'matches a method by its name'
  if (!(path === undefined || typeof path === 'string' || path instanceof RegExp)) {
    return 'matches a path by a string or a pattern'
  }
  return plane === undefined || planes.includes(plane) ? undefined : 'matches one of the planes control, envd and port'
}

const effectProblems: Readonly<
  Record<FaultEffect['kind'], (effect: Readonly<Record<string, unknown>>) => string | undefined>
> = {
  answer({ status, message, headers = {} }) {
    if (!(Number.isInteger(status) && Number(status) >= 200 && Number(status) <= 599)) {
      return 'answers with a status from 200 to 599'
    }
    if (!(message === undefined || typeof message === 'string')) return 'answers with a message that is a string'
    const areHeaders = isRecord(headers) && Object.values(headers).every((value) => typeof value === 'string')
    return areHeaders ? undefined : 'answers with headers that are strings'
  },
  delay: ({ ms }) =>
    typeof ms === 'number' && Number.isFinite(ms) && ms >= 0
      ? undefined
      : 'delays by a finite number of milliseconds, 0 or more',
  reset: ({ when }) =>
    when === undefined || when === 'before' || when === 'after' ? undefined : 'resets before or after the request',
  'drop-stream': ({ after }) =>
    isRecord(after) && isCount('bytes' in after ? after['bytes'] : after['messages'])
      ? undefined
      : 'breaks a body off after a whole number of bytes or messages, 0 or more',
}

function problemOfEffect(effect: unknown): string | undefined {
  const kinds = Object.entries(effectProblems)
  const found = isRecord(effect) ? kinds.find(([kind]) => kind === effect['kind']) : undefined
  if (found === undefined || !isRecord(effect)) return `has an effect of kind ${kinds.map(([kind]) => kind).join(', ')}`
  const [, problem] = found
  return problem(effect)
}

const isCount = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= 0
