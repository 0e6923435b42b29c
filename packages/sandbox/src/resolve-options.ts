import { isDeferredNamedTemplateSpec, isNamedTemplateSpec, systemClock } from '@warmbox/resolution'
import type { SandboxLifecycle, SandboxNetworkOpts } from 'e2b'
import {
  assertBoolean,
  assertFunction,
  assertMethods,
  assertNamesIn,
  assertRecord,
  assertString,
  refuse,
} from './option-checks.ts'
import {
  DEFAULT_LIFECYCLE,
  DEFAULT_SANDBOX_TIMEOUT_MS,
  type E2BSandboxOptions,
  type ResolvedOptions,
} from './options.ts'

/** Longest time to live of any E2B plan. */
const LONGEST_TIMEOUT_MS = 86_400_000

function assertMilliseconds(field: string, value: number, longest: number): number {
  if (Number.isInteger(value) && value > 0 && value <= longest) return value
  return refuse(`${field} is not a time in milliseconds: ${String(value)}`, `Give a whole number from 1 to ${longest}`)
}

function assertId(field: string, value: string): string {
  if (typeof value !== 'string') {
    return refuse(`${field} is not a string`, `Give a string as ${field}, or leave it out`)
  }
  if (value.trim() !== '') return value
  return refuse(`${field} is empty`, `Give a non-empty ${field}, or leave it out`)
}

function assertUrl(field: string, value: string | undefined): void {
  if (value === undefined) return
  const url = URL.parse(value)
  if (url === null || !/^https?:$/.test(url.protocol)) refuse(`${field} is not a URL`, 'Give an http or https URL')
  else if (url.username !== '' || url.password !== '') {
    refuse(`${field} holds credentials`, 'Remove user and password from the URL; the API key goes into apiKey')
  }
}

function assertDomain(value: string | undefined): void {
  if (value === undefined || /^[a-z0-9.-]+(:\d+)?$/i.test(value)) return
  refuse(`domain is not a host name: '${value}'`, `Write it without scheme and path, such as 'e2b.app'`)
}

function assertWorkingDirectory(value: unknown): void {
  const isPlain = typeof value === 'string' && value.startsWith('/') && !value.includes('\0')
  if (value === undefined || isPlain) return
  refuse('workingDirectory is not an absolute directory', 'Write it like /home/user/widgets, or leave it out')
}

function assertEnv(env: Record<string, string>): Readonly<Record<string, string>> {
  for (const [name, value] of Object.entries(env)) {
    if (!/^[^=\0]+$/.test(name)) refuse(`env holds an impossible name: '${name}'`, 'A name has no = and no NUL')
    // The value may be a secret, so it is not quoted.
    if (typeof value !== 'string' || value.includes('\0')) {
      refuse(`env.${name} is not a string without NUL`, 'Convert the value to a string, or leave the variable out')
    }
  }
  return Object.freeze({ ...env })
}

function toMetadata(metadata: Record<string, unknown>): Readonly<Record<string, string>> {
  const entries = Object.entries(metadata).flatMap(([key, value]): [string, string][] => {
    if (value === undefined) return []
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    if (text === undefined) refuse(`metadata.${key} has no JSON form`, 'Give a string or a JSON value')
    return [[key, text]]
  })
  return Object.freeze(Object.fromEntries(entries))
}

const LIFECYCLE: Readonly<Record<keyof SandboxLifecycle, true>> = { onTimeout: true, autoResume: true }
const PAUSE: Readonly<Record<string, true>> = { action: true, keepMemory: true }
const KILL: Readonly<Record<string, true>> = { action: true }

/** Older releases of the SDK know fewer; what a newer one adds does not compile until it is here. */
const NETWORK: Readonly<Record<keyof SandboxNetworkOpts | 'egressProxy' | 'httpsPorts', true>> = {
  allowOut: true,
  denyOut: true,
  rules: true,
  egressProxy: true,
  allowPublicTraffic: true,
  maskRequestHost: true,
  httpsPorts: true,
}

function assertLifecycle(options: E2BSandboxOptions): ResolvedOptions['lifecycle'] {
  const lifecycle = options.lifecycle ?? DEFAULT_LIFECYCLE
  const { onTimeout, autoResume = false } = lifecycle
  const action = typeof onTimeout === 'string' ? onTimeout : onTimeout?.action
  if (action !== 'pause' && action !== 'kill') {
    refuse(`lifecycle.onTimeout is neither 'pause' nor 'kill'`, `Write { onTimeout: 'pause' } or { onTimeout: 'kill' }`)
  }
  if (typeof onTimeout === 'object') {
    assertNamesIn('lifecycle.onTimeout', onTimeout, onTimeout.action === 'pause' ? PAUSE : KILL)
    if (onTimeout.action === 'pause') assertBoolean('lifecycle.onTimeout.keepMemory', onTimeout.keepMemory)
  }
  if (autoResume && action === 'kill') {
    refuse('lifecycle.autoResume needs a paused sandbox', `Use onTimeout: 'pause', or leave autoResume out`)
  }
  const dropsMemory = typeof onTimeout === 'object' && onTimeout.action === 'pause' && onTimeout.keepMemory === false
  if (autoResume && dropsMemory) {
    refuse('lifecycle.autoResume needs the memory kept', 'Leave out keepMemory: false or autoResume')
  }
  return Object.freeze({ onTimeout, autoResume })
}

/** By what it can do: a subclass may bring an SDK with classes of its own. */
const isBuilder = (template: object): boolean => typeof Reflect.get(template, 'runCmd') === 'function'

function assertTemplate(template: E2BSandboxOptions['template']): ResolvedOptions['template'] {
  const isUsable =
    template === undefined ||
    typeof template === 'string' ||
    typeof template === 'function' ||
    isNamedTemplateSpec(template) ||
    isDeferredNamedTemplateSpec(template) ||
    (typeof template === 'object' && template !== null && isBuilder(template))
  if (!isUsable) {
    refuse('template is none of the forms a template has', 'Give a ref, builder, function, named or deferred spec')
  }
  if (typeof template === 'string') assertId('template', template)
  return template
}

function assertCredentials(options: E2BSandboxOptions, environment: NodeJS.ProcessEnv): void {
  if (options.accessToken === undefined || options.apiKey !== undefined || environment['E2B_API_KEY']) return
  refuse('accessToken is no credential of E2B any more', 'Pass apiKey, or set the environment variable E2B_API_KEY')
}

function assertForms(options: E2BSandboxOptions): void {
  assertRecord('options', options)
  for (const field of ['apiKey', 'accessToken', 'domain', 'apiUrl', 'sandboxUrl'] as const) {
    assertString(field, options[field])
  }
  for (const field of ['onEvent', 'waitUntil', 'onStart', 'onStop', 'onDestroy'] as const) {
    assertFunction(field, options[field])
  }
  for (const field of ['strictTemplate', 'overlapLookup'] as const) assertBoolean(field, options[field])
  for (const field of ['env', 'metadata', 'network', 'lifecycle'] as const) assertRecord(field, options[field])
  assertNamesIn('network', options.network, NETWORK)
  assertNamesIn('lifecycle', options.lifecycle, LIFECYCLE)
  assertBoolean('lifecycle.autoResume', options.lifecycle?.autoResume)
  assertMethods('lease', options.lease, ['acquire', 'renew', 'release'])
  assertMethods('clock', options.clock, ['now', 'sleep'])
  if (typeof options.instructions !== 'function') assertString('instructions', options.instructions)
}

/**
 * Checks options and fills in the defaults.
 * @throws E2BSandboxError `INVALID_OPTION` naming the option and what to write instead
 */
export function resolveOptions(
  options: E2BSandboxOptions,
  newId: () => string,
  environment: NodeJS.ProcessEnv = process.env,
): ResolvedOptions {
  assertForms(options)
  assertCredentials(options, environment)
  assertUrl('apiUrl', options.apiUrl)
  assertUrl('sandboxUrl', options.sandboxUrl)
  assertDomain(options.domain)
  assertWorkingDirectory(options.workingDirectory)
  if (options.requestTimeoutMs !== undefined) {
    assertMilliseconds('requestTimeoutMs', options.requestTimeoutMs, LONGEST_TIMEOUT_MS)
  }
  return Object.freeze({
    id: options.id === undefined ? newId() : assertId('id', options.id),
    idIsShared: options.id !== undefined,
    sandboxId: options.sandboxId === undefined ? undefined : assertId('sandboxId', options.sandboxId),
    template: assertTemplate(options.template),
    timeoutMs: assertMilliseconds(
      'timeout',
      options.timeout === undefined ? DEFAULT_SANDBOX_TIMEOUT_MS : options.timeout,
      LONGEST_TIMEOUT_MS,
    ),
    env: assertEnv(options.env ?? {}),
    metadata: toMetadata(options.metadata ?? {}),
    network: options.network,
    lifecycle: assertLifecycle(options),
    instructions: options.instructions,
    onEvent: options.onEvent,
    buildTimeoutMs:
      options.buildTimeoutMs === undefined
        ? undefined
        : assertMilliseconds('buildTimeoutMs', options.buildTimeoutMs, LONGEST_TIMEOUT_MS),
    waitUntil: options.waitUntil,
    strictTemplate: options.strictTemplate ?? false,
    overlapLookup: options.overlapLookup ?? true,
    lease: options.lease,
    checkpointName:
      options.checkpointName === undefined ? undefined : assertId('checkpointName', options.checkpointName),
    seedCheckpointName:
      options.seedCheckpointName === undefined ? undefined : assertId('seedCheckpointName', options.seedCheckpointName),
    clock: options.clock ?? systemClock,
  })
}
