import { parseRecord, TEMPLATE_RECORD } from './checkout/record.ts'
import { assertKnownKeys, assertObject, assertSignal } from './known-keys.ts'
import { inspectScript, templateRecordScript } from './sync/inspect-script.ts'
import { executorOf, readFields, scriptRunner, type SyncableSandbox } from './sync/sandbox.ts'
import { timeoutOf } from './timeout.ts'

/** What a session was given, and whether its dependencies are those of its checkout. */
export interface BootReport {
  /** Canonical clone URL. */
  readonly repository: string
  /** Absolute directory of the checkout. */
  readonly path: string
  /** The commit the image was built of. */
  readonly sha: string
  /** When its setup had run. */
  readonly builtAt: Date
  /** Milliseconds since then. */
  readonly ageMs: number
  /** The commit of the checkout now, after a sync perhaps another one; `undefined` where there is no checkout any more. */
  readonly head: string | undefined
  /** The lockfiles of the checkout are not those of the image. Whether setup ran for them since, the sync says. */
  readonly lockfilesChanged: boolean
}

export interface BootReportOptions {
  /** Longest single command in milliseconds. Default 30 seconds. */
  readonly timeoutMs?: number | undefined
  /** Ends the report with its reason. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Reads in a sandbox which image of a repository it was booted from, how old that is, and whether the lockfiles of the
 * checkout have changed since, as a sync may do. Changes nothing. Works over any Mastra sandbox with bash and git.
 *
 * @returns `undefined` for a sandbox of an image that holds no repository.
 * @throws RepoTemplateError `SANDBOX_UNSUPPORTED` or `SYNC_FAILED`, and `OPTION_TYPE`, `OPTION_INVALID` or `OPTION_UNKNOWN`
 * before anything is run; the signal's reason.
 */
export const reportBoot = async (
  sandbox: SyncableSandbox,
  options: BootReportOptions = {},
): Promise<BootReport | undefined> => {
  executorOf(sandbox)
  assertObject(options, 'options', 'The options of a boot report', '{ timeoutMs: 30_000 }')
  assertKnownKeys(options, ['timeoutMs', 'signal'] satisfies (keyof BootReportOptions)[], 'A boot report')
  const { timeoutMs, signal } = options
  assertSignal(signal)
  const limit = timeoutOf(timeoutMs, 'timeoutMs', DEFAULT_TIMEOUT_MS)
  const runner = scriptRunner(sandbox, { secrets: [], timeoutMs: limit, signal })
  const baked = parseRecord(readFields(await runner.run(templateRecordScript(TEMPLATE_RECORD))).get('record') ?? '')
  if (baked === undefined) return undefined
  const checkout = readFields(await runner.run(inspectScript(baked.path)))
  const builtAt = new Date(baked.builtAt)
  return {
    repository: baked.repository,
    path: baked.path,
    sha: baked.sha,
    builtAt,
    ageMs: Math.max(0, Date.now() - builtAt.getTime()),
    head: checkout.get('head'),
    lockfilesChanged: checkout.get('lockfiles') !== baked.lockfiles,
  }
}

const DEFAULT_TIMEOUT_MS = 30_000
