import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import { createChance, type Chance } from './chance.ts'
import { systemClock } from './clock.ts'
import { isEnvdVersion, NEWEST_ENVD, type EnvdVersion } from './envd/index.ts'
import { EmulatorError } from './errors.ts'
import { assertOptions } from './option-checks.ts'
import type { EmulatorOptions } from './options.ts'
import { randomIdentifierSource, seededIdentifierSource } from './platform/identifiers.ts'
import type { Limits } from './platform/platform.ts'

export type ResolvedOptions = Required<Omit<EmulatorOptions, 'envdVersion' | 'limits' | 'seed'>> & {
  readonly limits: Limits
  readonly chance: Chance
  readonly envdVersion: EnvdVersion
}

const DEFAULT_LIMITS: Limits = { concurrentBuilds: 20, concurrentSandboxes: 100, sandboxSeconds: 24 * 3600 }

/** Throws {@link EmulatorError} `INVALID_OPTION` with the name of the option that is unknown or of the wrong form. */
export function resolveOptions(options: EmulatorOptions): ResolvedOptions {
  assertOptions(options)
  const { apiKey = `e2b_${randomBytes(20).toString('hex')}`, latency = 0, team = 'emulator' } = options
  const { concurrentBuilds, concurrentSandboxes, sandboxSeconds } = { ...options.limits }
  const { envdVersion = NEWEST_ENVD } = options
  // Checked already; this tells the compiler.
  if (!isEnvdVersion(envdVersion)) throw new EmulatorError('INVALID_OPTION', 'envdVersion must be three numbers')
  return Object.freeze({
    runtime: options.runtime ?? 'auto',
    clock: options.clock ?? systemClock,
    ids: options.ids ?? (options.seed === undefined ? randomIdentifierSource : seededIdentifierSource(options.seed)),
    chance: createChance(options.seed),
    apiKey,
    dataDirectory: options.dataDirectory ?? tmpdir(),
    certificateAuthorities: Object.freeze([...(options.certificateAuthorities ?? [])]),
    faults: Object.freeze([...(options.faults ?? [])]),
    latency,
    envdVersion,
    team,
    limits: Object.freeze({
      concurrentBuilds: concurrentBuilds ?? DEFAULT_LIMITS.concurrentBuilds,
      concurrentSandboxes: concurrentSandboxes ?? DEFAULT_LIMITS.concurrentSandboxes,
      sandboxSeconds: sandboxSeconds ?? DEFAULT_LIMITS.sandboxSeconds,
    }),
  })
}
