import { parseCloneUrl } from '@warmbox/identity'
import { tell } from '@warmbox/resolution'
import { RepoTemplateError } from '../errors.ts'
import { assertFunction, assertObject, assertSignal } from '../known-keys.ts'
import { type RepoTemplateOptions, resolveOptions } from '../options.ts'
import { timeoutOf } from '../timeout.ts'
import { type Checkout, readCheckout } from './checkout.ts'
import { cloneScript } from './clone-script.ts'
import { inspectScript } from './inspect-script.ts'
import { inTurn } from './in-turn.ts'
import { fetchScript, moveScript, partsScript } from './move-scripts.ts'
import { requireAccess, requireBuildEnvironment, requireHead } from './requirements.ts'
import { executorOf, inTime, readFields, type ScriptRun, scriptRunner, type SyncableSandbox } from './sandbox.ts'
import { recordScript, setupScript } from './setup-script.ts'
import type { SetupState, SyncTarget } from './target.ts'

/** One command of a sync that ended. */
export interface SyncEvent {
  readonly type: 'sync'
  /** `clone`, `fetch`, `checkout`, `setup 1 of 2`, and so on. */
  readonly step: string
  readonly durationMs: number
}

/** The options of the template the sandbox was booted from, so that one object serves both. */
export interface SyncOptions extends RepoTemplateOptions {
  /**
   * Longest single command, a clone or a setup command, in milliseconds. Default 10 minutes. The functions among the
   * options get as long.
   */
  timeoutMs?: number | undefined
  /** Ends the sync with its reason. */
  signal?: AbortSignal | undefined
  onEvent?: ((event: SyncEvent) => void) | undefined
}

/**
 * Why a checkout was left where it was. `changes`: tracked files differ from the commit, staged or not, also those git
 * was told to assume unchanged; or a merge, a rebase and the like is under way. Also in a submodule that the move would touch. `commits`: there are commits that the
 * wanted one does not contain, or is not known to. `branch`: somebody works on a branch. `untracked`: files git does not
 * know, or ignores, are in the new commit's way, or in the place of a submodule.
 */
export type KeptReason = 'changes' | 'commits' | 'branch' | 'untracked'

export interface SyncResult {
  /** Commit before; `undefined` for a cold sandbox. */
  readonly from: string | undefined
  /** Commit now. That of the head, unless `kept` says otherwise. */
  readonly to: string
  /** The commit asked for. */
  readonly head: string
  /** The lockfiles of the checkout, committed or staged, are not those setup last ran with, or nobody knows with which it did. */
  readonly drift: boolean
  /** Setup ran, and ended well. */
  readonly reran: boolean
  /** There was no checkout; it was cloned. */
  readonly cold: boolean
  /** Absolute directory of the checkout. */
  readonly path: string
  readonly kept: KeptReason | undefined
  /**
   * Where the files now are that lay in `path` and were no checkout, such as an interrupted clone or somebody's
   * directory: an absolute path next to it. `undefined` where there were none. Nobody removes it.
   */
  readonly setAside: string | undefined
  /** Tracked files that differed from the commit before the sync, staged or not, what setup itself changed left out. */
  readonly changed: readonly string[]
}

const DEFAULT_TIMEOUT_MS = 600_000

/**
 * Brings the checkout of a running sandbox to the head (or to `branch`, `tag`, `pull`, `sha`): fetch and checkout where there is
 * one, a full clone where there is none. Setup runs only after a clone, or where the lockfiles are not those it
 * last ran with. Work in the sandbox is never thrown away: then nothing moves and `kept` says why. Only what setup
 * changed in tracked files of a checkout nobody had worked in is undone to move, and kept as a commit under
 * `refs/warmbox-undone`. Syncs of one sandbox come one after the other.
 *
 * Works over any Mastra sandbox with bash, git and base64. The credential is in the environment of the one command that
 * fetches, and stored nowhere.
 *
 * @throws RepoTemplateError `ACCESS_REFUSED`, `REF_MISSING`, `HEAD_UNREACHABLE`, `NO_REPOSITORY`, `SANDBOX_UNSUPPORTED`,
 * `CHECKOUT_FOREIGN`, `SYNC_FAILED`, `SYNC_TIMEOUT` or `SETUP_FAILED`; IdentityError for malformed input; the signal's reason.
 */
export const syncRepository = async (sandbox: SyncableSandbox, options: SyncOptions): Promise<SyncResult> => {
  executorOf(sandbox)
  assertObject(options, 'options', 'The options of a sync', '{ getRepositoryAccess }')
  const { timeoutMs, signal, onEvent, ...templateOptions } = options
  assertSignal(signal)
  assertFunction(onEvent, 'onEvent', 'Write (event) => console.log(event.step), for one, or leave it out.')
  const resolved = resolveOptions(templateOptions)
  const commandTimeout = timeoutOf(timeoutMs, 'timeoutMs', DEFAULT_TIMEOUT_MS)
  signal?.throwIfAborted()
  const { access, repository } = await inTime('getRepositoryAccess', commandTimeout, signal, (limit) =>
    requireAccess(resolved, limit),
  )
  const [head, environment] = await Promise.all([
    inTime('looking the head up', commandTimeout, signal, (limit) => requireHead(resolved, access, limit)),
    inTime('buildEnv', commandTimeout, signal, () => requireBuildEnvironment(resolved)),
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
    // Less than the command has that waits, so that it is told why.
    waitSeconds: Math.max(1, Math.floor(commandTimeout / 2000)),
  }
  const secrets = [...(repository.token === undefined ? [] : [repository.token]), ...Object.values(environment)]
  const runner = scriptRunner(sandbox, { secrets, timeoutMs: commandTimeout, signal })
  const run: Run = async (script) => {
    const started = performance.now()
    const fields = readFields(await runner.run(script))
    if (onEvent !== undefined) {
      // A broken listener costs nobody a sync, and there is no channel left to report it on.
      tell(onEvent, { type: 'sync', step: script.name, durationMs: performance.now() - started }, () => undefined)
    }
    return fields
  }
  return inTurn(sandbox, signal, () => bringToHead(target, { commands: resolved.setupCommands, environment }, run))
}

type Run = (script: ScriptRun) => Promise<ReadonlyMap<string, string>>

interface Setup {
  readonly commands: readonly string[]
  readonly environment: Readonly<Record<string, string>>
}

/** What a record says of a setup that never ran, or is due. */
const neverSetUp: SetupState = { lockfiles: '', builtAt: '' }

const bringToHead = async (target: SyncTarget, setup: Setup, run: Run): Promise<SyncResult> => {
  const look = async () => readCheckout(await run(inspectScript(target.path)), target)
  let checkout = await look()
  if (checkout === undefined) {
    const cloned = await run(cloneScript(target, setup.commands.length === 0 ? {} : neverSetUp))
    if (!cloned.has('present')) {
      await runSetup(target, setup, neverSetUp, run)
      return {
        from: undefined,
        to: target.sha,
        head: target.sha,
        drift: false,
        reran: setup.commands.length > 0,
        cold: true,
        path: target.path,
        kept: undefined,
        setAside: cloned.get('aside'),
        changed: [],
      }
    }
    checkout = await look()
    if (checkout === undefined) {
      throw new RepoTemplateError({ code: 'SYNC_FAILED', message: `The checkout in ${target.path} came and went` })
    }
  }
  return {
    ...(await updateCheckout(target, checkout, setup, run)),
    cold: false,
    path: target.path,
    setAside: undefined,
  }
}

const updateCheckout = async (
  target: SyncTarget,
  checkout: Checkout,
  setup: Setup,
  run: Run,
): Promise<Omit<SyncResult, 'cold' | 'path' | 'setAside'>> => {
  const { record, head: from } = checkout
  const changed = checkout.clean || checkout.worktree === record?.worktree ? [] : checkout.changed
  const before: SetupState =
    record === undefined ? neverSetUp : { lockfiles: record.lockfiles, builtAt: record.builtAt }
  const moved = from === target.sha ? undefined : await move(target, before, run)
  const lockfiles = moved?.lockfiles ?? checkout.lockfiles
  const drift = lockfiles !== record?.lockfiles
  if (moved?.kept !== undefined) {
    return { from, to: from, head: target.sha, drift, reran: false, kept: moved.kept, changed }
  }
  const { submodules, lfs } = target.parts
  if ((submodules || lfs) && (moved !== undefined || checkout.partsDue || record?.sha !== target.sha)) {
    await run(partsScript(target, before))
  }
  const reran = drift && setup.commands.length > 0
  if (reran) await runSetup(target, setup, before, run)
  else if (drift || (moved === undefined && record?.sha !== target.sha)) {
    await run(recordScript(target, record === undefined ? {} : { builtAt: record.builtAt }))
  }
  return { from, to: target.sha, head: target.sha, drift, reran, kept: undefined, changed }
}

const runSetup = async (
  target: SyncTarget,
  { commands, environment }: Setup,
  before: SetupState,
  run: Run,
): Promise<void> => {
  for (const [index, command] of commands.entries()) {
    const count = index + 1
    const after = count === commands.length ? {} : before
    await run(setupScript(target, `setup ${count} of ${commands.length}`, command, environment, { before, after }))
  }
}

const keptReasons: readonly KeptReason[] = ['changes', 'commits', 'branch', 'untracked']

/** `lockfiles` of the checkout as it is now; `undefined` where it is where it was. */
const move = async (
  target: SyncTarget,
  setup: SetupState,
  run: Run,
): Promise<{ readonly kept: KeptReason | undefined; readonly lockfiles: string | undefined }> => {
  const { contained } = Object.fromEntries(await run(fetchScript(target)))
  const fields = await run(moveScript(target, setup, contained))
  return { kept: keptReasons.find((reason) => reason === fields.get('kept')), lockfiles: fields.get('lockfiles') }
}
