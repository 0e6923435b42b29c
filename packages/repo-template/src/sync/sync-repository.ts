import { parseCloneUrl } from '@warmbox/identity'
import { tell } from '@warmbox/resolution'
import { plainValues } from '../build/build-environment.ts'
import { type CheckoutRecord, parseRecord } from '../checkout/record.ts'
import { RepoTemplateError } from '../errors.ts'
import { findHead } from '../find-head.ts'
import { assertBuildEnvNames, type RepoTemplateOptions, type ResolvedOptions, resolveOptions } from '../options.ts'
import { acquireAccess, type RepositoryAccess, type Repository } from '../repository-access.ts'
import { timeoutOf } from '../timeout.ts'
import { readFields, type ScriptRun, scriptRunner, type SyncableSandbox } from './sandbox.ts'
import {
  cloneScript,
  fetchScript,
  inspectScript,
  moveScript,
  partsScript,
  recordScript,
  setupScript,
  type SyncTarget,
} from './scripts.ts'

/** One command of a sync that ended. */
export interface SyncEvent {
  readonly type: 'sync'
  /** `clone`, `fetch`, `checkout`, `setup 1 of 2`, and so on. */
  readonly step: string
  readonly durationMs: number
}

/** The options of the template the sandbox was booted from, so that one object serves both. */
export interface SyncOptions extends RepoTemplateOptions {
  /** Longest single command, a clone or a setup command, in milliseconds. Default 10 minutes. */
  timeoutMs?: number | undefined
  /** Ends the sync with its reason. */
  signal?: AbortSignal | undefined
  onEvent?: ((event: SyncEvent) => void) | undefined
}

/**
 * Why a checkout was left where it was. `changes`: tracked files differ from the commit. `commits`: there are commits of
 * its own. `branch`: somebody works on a branch. `untracked`: files git does not know, or ignores, are in the new commit's way.
 */
export type KeptReason = 'changes' | 'commits' | 'branch' | 'untracked'

export interface SyncResult {
  /** Commit before; `undefined` for a cold sandbox. */
  readonly from: string | undefined
  /** Commit now. That of the head, unless `kept` says otherwise. */
  readonly to: string
  /** The commit asked for. */
  readonly head: string
  /** The lockfiles of the checkout are not those setup last ran with, or nobody knows with which it did. */
  readonly drift: boolean
  /** Setup ran, and ended well. */
  readonly reran: boolean
  /** There was no checkout; it was cloned. */
  readonly cold: boolean
  /** Absolute directory of the checkout. */
  readonly path: string
  readonly kept: KeptReason | undefined
  /** Tracked files that differed from the commit before the sync, what setup itself changed left out. */
  readonly changed: readonly string[]
}

const DEFAULT_TIMEOUT_MS = 600_000

/**
 * Brings the checkout of a running sandbox to the head (or to `branch`, `tag`, `pull`, `sha`): fetch and checkout where there is
 * one, a full clone where there is none. Setup runs only after a clone, or where the lockfiles are not those it
 * last ran with. Work in the sandbox is never thrown away: then nothing moves and `kept` says why.
 *
 * Works over any Mastra sandbox with bash, git and base64. The credential is in the environment of the one command that
 * fetches, and stored nowhere.
 *
 * @throws RepoTemplateError `ACCESS_REFUSED`, `REF_MISSING`, `HEAD_UNREACHABLE`, `NO_REPOSITORY`, `SANDBOX_UNSUPPORTED`,
 * `CHECKOUT_FOREIGN`, `SYNC_FAILED` or `SETUP_FAILED`; IdentityError for malformed input; the signal's reason.
 */
export const syncRepository = async (sandbox: SyncableSandbox, options: SyncOptions): Promise<SyncResult> => {
  const { timeoutMs, signal, onEvent, ...templateOptions } = options
  const resolved = resolveOptions(templateOptions)
  const commandTimeout = timeoutOf(timeoutMs, 'timeoutMs', DEFAULT_TIMEOUT_MS)
  signal?.throwIfAborted()
  const { access, repository } = await requireAccess(resolved, signal)
  const [head, environment] = await Promise.all([
    requireHead(resolved, access, signal),
    requireBuildEnvironment(resolved),
  ])
  const clone = parseCloneUrl(head.cloneUrl)
  const target: SyncTarget = {
    cloneUrl: clone.cloneUrl,
    origin: clone.origin,
    repository: repository.clone.canonical,
    path: resolved.workingDirectory ?? `/home/user/${repository.clone.directory}`,
    sha: head.sha,
    credential: repository.credential,
    parts: { submodules: resolved.submodules, lfs: resolved.lfs },
  }
  const secrets = [...(repository.token === undefined ? [] : [repository.token]), ...Object.values(environment)]
  const runner = scriptRunner(sandbox, { secrets, timeoutMs: commandTimeout, signal })
  const run = async (script: ScriptRun): Promise<ReadonlyMap<string, string>> => {
    const started = performance.now()
    const fields = readFields(await runner.run(script))
    if (onEvent !== undefined) {
      // A broken listener costs nobody a sync, and there is no channel left to report it on.
      tell(onEvent, { type: 'sync', step: script.name, durationMs: performance.now() - started }, () => undefined)
    }
    return fields
  }

  const checkout = readCheckout(await run(inspectScript(target.path)))
  if (checkout?.record !== undefined && checkout.record.repository !== target.repository) {
    throw new RepoTemplateError({
      code: 'CHECKOUT_FOREIGN',
      field: 'workingDirectory',
      message: `${target.path} holds a checkout of another repository`,
      hint: 'Give each repository of a sandbox a workingDirectory of its own.',
    })
  }
  const moved = await bringToHead(target, checkout, run)
  const record = checkout?.record
  const cold = checkout === undefined
  // Written last, the record tells of a sync that was interrupted in between too.
  if (!cold && moved.kept === undefined && moved.to !== record?.sha && (resolved.submodules || resolved.lfs)) {
    await run(partsScript(target))
  }
  const drift = !cold && moved.lockfiles !== record?.lockfiles
  const reran = moved.kept === undefined && (cold || drift) && resolved.setupCommands.length > 0
  if (reran) {
    // Written before setup too: should it fail, the next sync knows where the checkout is and that setup is due.
    await run(recordScript(target, { lockfiles: record?.lockfiles ?? '', builtAt: record?.builtAt ?? '' }))
    for (const [index, command] of resolved.setupCommands.entries()) {
      const name = `setup ${index + 1} of ${resolved.setupCommands.length}`
      await run(setupScript(target.path, name, command, environment))
    }
  }
  if (moved.kept === undefined && (reran || cold || moved.to !== record?.sha || drift)) {
    await run(recordScript(target, reran || record === undefined ? {} : { builtAt: record.builtAt }))
  }
  return {
    from: checkout?.head,
    to: moved.to,
    head: target.sha,
    drift,
    reran,
    cold,
    path: target.path,
    kept: moved.kept,
    changed: checkout === undefined || checkout.worktree === record?.worktree ? [] : checkout.changed,
  }
}

interface Moved {
  readonly to: string
  readonly kept: KeptReason | undefined
  /** Of the checkout as it is now; `undefined` after a clone, where there is nothing to compare with. */
  readonly lockfiles: string | undefined
}

const keptReasons: readonly KeptReason[] = ['changes', 'commits', 'branch', 'untracked']

const bringToHead = async (
  target: SyncTarget,
  checkout: Checkout | undefined,
  run: (script: ScriptRun) => Promise<ReadonlyMap<string, string>>,
): Promise<Moved> => {
  if (checkout === undefined) {
    await run(cloneScript(target))
    return { to: target.sha, kept: undefined, lockfiles: undefined }
  }
  if (checkout.head === target.sha) return { to: target.sha, kept: undefined, lockfiles: checkout.lockfiles }
  await run(fetchScript(target))
  const fields = await run(moveScript(target, checkout.record))
  const kept = keptReasons.find((reason) => reason === fields.get('kept'))
  return kept === undefined
    ? { to: target.sha, kept, lockfiles: fields.get('lockfiles') }
    : { to: checkout.head, kept, lockfiles: checkout.lockfiles }
}

interface Checkout {
  readonly head: string
  readonly lockfiles: string
  readonly worktree: string
  readonly changed: readonly string[]
  readonly record: CheckoutRecord | undefined
}

const readCheckout = (fields: ReadonlyMap<string, string>): Checkout | undefined => {
  if (fields.get('state') === 'none') return undefined
  const head = fields.get('head')
  if (fields.get('state') !== 'checkout' || head === undefined) {
    throw new RepoTemplateError({
      code: 'SYNC_FAILED',
      message: 'The sandbox gave no answer about the checkout',
      hint: 'executeCommand must answer what the command wrote to its standard output.',
    })
  }
  const names = new TextDecoder().decode(
    Uint8Array.from(atob(fields.get('changed') ?? ''), (character) => character.charCodeAt(0)),
  )
  return {
    head,
    lockfiles: fields.get('lockfiles') ?? '',
    worktree: fields.get('worktree') ?? '',
    changed: names.split('\0').filter((name) => name !== ''),
    record: parseRecord(fields.get('record') ?? ''),
  }
}

const requireAccess = async (
  options: ResolvedOptions,
  signal: AbortSignal | undefined,
): Promise<{ access: RepositoryAccess; repository: Repository }> => {
  if (options.getRepositoryAccess === undefined) {
    throw new RepoTemplateError({
      code: 'NO_REPOSITORY',
      field: 'getRepositoryAccess',
      message: 'There is no repository to sync: getRepositoryAccess is undefined',
    })
  }
  const answer = await acquireAccess(options.getRepositoryAccess, signal, options)
  if (answer.status === 'granted') return answer
  throw new RepoTemplateError({ code: 'ACCESS_REFUSED', message: answer.reason, cause: answer.cause })
}

const requireHead = async (
  options: ResolvedOptions,
  access: RepositoryAccess,
  signal: AbortSignal | undefined,
): Promise<{ sha: string; cloneUrl: string }> => {
  if (options.sha !== undefined) return { sha: options.sha, cloneUrl: access.cloneUrl }
  const head = await findHead(options, access, signal)
  if (head.status === 'found') return head
  const refusal = head.status === 'refused' && head.code === 'REF_MISSING' ? 'REF_MISSING' : 'ACCESS_REFUSED'
  throw new RepoTemplateError({
    code: head.status === 'unreachable' ? 'HEAD_UNREACHABLE' : refusal,
    message: `The head of the ${options.selector.description} could not be looked up: ${head.reason}`,
    cause: head.cause,
  })
}

const requireBuildEnvironment = async (options: ResolvedOptions): Promise<Readonly<Record<string, string>>> => {
  try {
    const buildEnv = await options.buildEnv()
    assertBuildEnvNames(buildEnv)
    return plainValues(buildEnv)
  } catch (cause) {
    if (cause instanceof RepoTemplateError) throw cause
    throw new RepoTemplateError({ code: 'BUILD_ENV_FAILED', message: 'The buildEnv function rejected', cause })
  }
}
