import type { FaultEffect, Plane } from './fault.ts'
import { isRecord } from './is-record.ts'
import { unknownName } from './known-names.ts'

const planes: readonly unknown[] = ['control', 'envd', 'port'] satisfies Plane[]
const fields: readonly string[] = ['match', 'skip', 'times', 'probability', 'effect']

/** What is wrong with a fault, as the rest of "a fault"; undefined where it could be meant. */
export function problemOfFault(fault: unknown): string | undefined {
  if (!isRecord(fault)) return 'is an object'
  const unknown = unknownName(fault, fields)
  if (unknown !== undefined) return `has no field ${unknown.name}, only ${fields.join(', ')}`
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
  if (!(method === undefined || (typeof method === 'string' && /^[A-Z]+$/.test(method)))) {
    return 'matches a method by its name in upper case'
  }
  if (!(path === undefined || typeof path === 'string' || path instanceof RegExp)) {
    return 'matches a path by a string or a pattern'
  }
  return plane === undefined || planes.includes(plane) ? undefined : 'matches one of the planes control, envd and port'
}

interface EffectCheck {
  readonly fields: readonly string[]
  problemOf(effect: Readonly<Record<string, unknown>>): string | undefined
}

const effectChecks: Readonly<Record<FaultEffect['kind'], EffectCheck>> = {
  answer: {
    fields: ['status', 'message', 'headers'],
    problemOf({ status, message, headers = {} }) {
      if (!(Number.isInteger(status) && Number(status) >= 200 && Number(status) <= 599)) {
        return 'answers with a status from 200 to 599'
      }
      if (!(message === undefined || typeof message === 'string')) return 'answers with a message that is a string'
      return areHeaders(headers) ? undefined : 'answers with headers that are strings, as HTTP allows them'
    },
  },
  delay: {
    fields: ['ms'],
    problemOf: ({ ms }) =>
      typeof ms === 'number' && Number.isFinite(ms) && ms >= 0
        ? undefined
        : 'delays by a finite number of milliseconds, 0 or more',
  },
  reset: {
    fields: ['when'],
    problemOf: ({ when }) =>
      when === undefined || when === 'before' || when === 'after' ? undefined : 'resets before or after the request',
  },
  'drop-stream': {
    fields: ['after'],
    problemOf({ after }) {
      const cuts = isRecord(after) ? Object.entries(after) : []
      const isCut = cuts.length === 1 && cuts.every(([unit, count]) => units.includes(unit) && isCount(count))
      return isCut ? undefined : 'breaks a body off after a whole number of either bytes or messages, 0 or more'
    },
  },
}

const units: readonly string[] = ['bytes', 'messages']

function problemOfEffect(effect: unknown): string | undefined {
  const kinds = Object.entries(effectChecks)
  const found = isRecord(effect) ? kinds.find(([kind]) => kind === effect['kind']) : undefined
  if (found === undefined || !isRecord(effect)) return `has an effect of kind ${kinds.map(([kind]) => kind).join(', ')}`
  const [kind, check] = found
  const unknown = unknownName(effect, ['kind', ...check.fields])
  if (unknown === undefined) return check.problemOf(effect)
  return `has an effect with no field ${unknown.name}: of kind ${kind} it has ${check.fields.join(', ')}`
}

function areHeaders(value: unknown): boolean {
  if (!isRecord(value)) return false
  try {
    for (const [name, text] of Object.entries(value)) {
      if (typeof text !== 'string') return false
      new Headers().append(name, text)
    }
    return true
  } catch {
    // The standard's own refusal of a name or a value.
    return false
  }
}

const isCount = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= 0
