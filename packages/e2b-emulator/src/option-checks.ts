import { X509Certificate } from 'node:crypto'
import type { Clock } from './clock.ts'
import type { EmulatorOptions } from './options.ts'
import { isAtLeast, isEnvdVersion, NEWEST_ENVD } from './envd/index.ts'
import { EmulatorError } from './errors.ts'
import { isRecord } from './is-record.ts'
import { unknownName } from './known-names.ts'
import type { Runtime } from './runtime/port.ts'

interface OptionCheck {
  /** What it has to be, as the rest of "<name> must". */
  readonly form: string
  holds(value: unknown): boolean
  readonly hint?: string
}

const runtimeNames: readonly unknown[] = ['real', 'scripted', 'auto', 'unsafe-host']
const runtimeMethods = [
  'baseImage',
  'createMachine',
  'deleteImage',
  'inspectImage',
  'close',
] as const satisfies readonly (keyof Runtime)[]
const clockMethods = ['now', 'schedule'] as const satisfies readonly (keyof Clock)[]
const limitNames: readonly string[] = [
  'concurrentBuilds',
  'concurrentSandboxes',
  'sandboxSeconds',
] satisfies (keyof NonNullable<EmulatorOptions['limits']>)[]

const has = (value: unknown, methods: readonly string[]): boolean =>
  isRecord(value) && methods.every((method) => typeof value[method] === 'function')

const optionChecks: Readonly<Record<keyof EmulatorOptions, OptionCheck>> = {
  runtime: {
    form: "be 'real', 'scripted', 'auto', 'unsafe-host' or a runtime",
    holds: (value) => runtimeNames.includes(value) || has(value, runtimeMethods),
    hint: 'createScriptedRuntime() makes one.',
  },
  clock: {
    form: 'be an object with now() and schedule()',
    holds: (value) => has(value, clockMethods),
    hint: 'createManualClock() makes one.',
  },
  seed: {
    form: 'be a string or a finite number',
    holds: (value) => typeof value === 'string' || Number.isFinite(value),
  },
  ids: { form: 'be a function that returns distinct strings', holds: (value) => typeof value === 'function' },
  apiKey: {
    form: 'start with "e2b_" and hold only what a header can carry: visible ASCII characters, no blanks',
    holds: (value) => typeof value === 'string' && /^e2b_[\x21-\x7e]*$/.test(value),
    hint: 'Leave it out to get a random one, and read it from connection.apiKey.',
  },
  dataDirectory: {
    form: 'be the path of a directory',
    holds: (value) => typeof value === 'string' && value !== '' && !value.includes('\0'),
  },
  certificateAuthorities: {
    form: 'be a list of texts with certificates in PEM',
    holds: (value) => Array.isArray(value) && value.every(isPem),
  },
  faults: { form: 'be a list of faults', holds: (value) => Array.isArray(value) },
  latency: {
    form: 'be a finite number of milliseconds, 0 or more',
    holds: (value) => typeof value === 'number' && Number.isFinite(value) && value >= 0,
  },
  team: {
    form: 'be a lower-case namespace of [a-z0-9-_]',
    holds: (value) => typeof value === 'string' && /^[a-z0-9-_]+$/.test(value),
  },
  envdVersion: {
    form: `be three numbers, at most "${NEWEST_ENVD}", whose daemon is the newest known here`,
    holds: (value) => typeof value === 'string' && isEnvdVersion(value) && isAtLeast(NEWEST_ENVD, value),
  },
  limits: { form: `be an object with ${limitNames.join(', ')}`, holds: isRecord },
}

/** Throws `INVALID_OPTION`, with the option's name, for one that is unknown or of the wrong form; undefined is as if left out. */
export function assertOptions(options: unknown): asserts options is EmulatorOptions {
  if (!isRecord(options)) throw new EmulatorError('INVALID_OPTION', 'the options must be an object')
  const names = Object.keys(optionChecks)
  const unknown = unknownName(options, names)
  if (unknown !== undefined) {
    throw new EmulatorError('INVALID_OPTION', `there is no option ${unknown.name}`, {
      hint: unknown.guess ?? `The options are ${names.join(', ')}.`,
    })
  }
  for (const [name, check] of Object.entries(optionChecks)) {
    const value = options[name]
    if (value === undefined || check.holds(value)) continue
    // The key is a secret, also where it is no good.
    const given = name === 'apiKey' ? '' : `, not ${shown(value)}`
    throw new EmulatorError(
      'INVALID_OPTION',
      `${name} must ${check.form}${given}`,
      check.hint === undefined ? {} : { hint: check.hint },
    )
  }
  assertLimits(options['limits'])
}

function assertLimits(limits: unknown): void {
  if (!isRecord(limits)) return
  const unknown = unknownName(limits, limitNames)
  if (unknown !== undefined) {
    throw new EmulatorError('INVALID_OPTION', `limits has no ${unknown.name}`, {
      hint: unknown.guess ?? `The limits are ${limitNames.join(', ')}.`,
    })
  }
  for (const [name, limit] of Object.entries(limits)) {
    if (limit === undefined || (Number.isSafeInteger(limit) && Number(limit) >= 0)) continue
    throw new EmulatorError('INVALID_OPTION', `limits.${name} must be a whole number, 0 or more, not ${shown(limit)}`)
  }
}

/** Whether a text holds certificates, and each of them can be read. */
function isPem(text: unknown): boolean {
  if (typeof text !== 'string') return false
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  const begun = text.split('-----BEGIN CERTIFICATE-----').length - 1
  return blocks.length > 0 && blocks.length === begun && blocks.every(isCertificate)
}

function isCertificate(block: string): boolean {
  try {
    return new X509Certificate(block).raw.length > 0
  } catch {
    // Only whether it can be read is asked; the words of the library tell nothing more.
    return false
  }
}

function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (Array.isArray(value)) return 'such a list'
  return typeof value === 'object' && value !== null ? 'such an object' : String(value)
}
