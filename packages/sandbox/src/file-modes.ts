import path from 'node:path'
import { quoteShell } from '@warmbox/resolution'
import type { Sandbox } from 'e2b'
import { E2BSandboxError } from './errors.ts'
import { runScript } from './sdk.ts'

/** A file that is to have a mode. */
export interface FileMode {
  /** Absolute, or from `./` on in the home directory. */
  readonly path: string
  readonly mode: number
}

/** Setting modes takes no time; longer means that something is broken. */
const SCRIPT_LIMIT_MS = 60_000

/** Linux takes 128 KiB as one argument, which a script is. Words are counted with it, the little around them is not. */
const BATCH_BYTES = 65_536

/** How many characters of a program's complaint an error quotes. */
const LONGEST_COMPLAINT = 1_000

/** How the scripts below end where a step of theirs fails, so that nobody has to read a program's words. */
const NO_DIRECTORY = 81
const NOT_REPLACED = 82
const NOT_MADE = 83
const NO_MODE = 84

const HINTS: ReadonlyMap<number, string> = new Map([
  [NO_DIRECTORY, 'Choose a path whose directories the sandbox user may make: none of them is a file'],
  [NOT_REPLACED, 'Choose a path at which there is no directory, and no file in a directory of another user'],
  [NOT_MADE, 'Choose a directory the sandbox user may write to, on a disk that is not full'],
  [NO_MODE, 'Leave out the mode where files belong to another user, or have none as in a mounted bucket'],
])
const NO_SHELL_HINT = 'The shell ended before its script did: look whether the sandbox can still run commands'

/**
 * Makes files anew, empty, with their modes, so that a secret is never readable by others while its content arrives.
 * @throws E2BSandboxError `BAD_REQUEST`; rejects with the SDK's own errors too
 */
export const makeWithModes = (sandbox: Sandbox, files: readonly FileMode[], signal?: AbortSignal): Promise<void> =>
  runBatches(sandbox, files, makeScript, signal)

/** Sets the modes of files, as an upload may have made them anew. Throws as {@link makeWithModes}. */
export const applyModes = (sandbox: Sandbox, files: readonly FileMode[], signal?: AbortSignal): Promise<void> =>
  runBatches(sandbox, files, applyScript, signal)

/** Each program runs once for all files of a batch: a process takes longer than what it has to do. */
const makeScript = (files: readonly FileMode[]): string =>
  [
    `cd && mkdir -p ${words(new Set(files.map(directoryOf)))} || exit ${NO_DIRECTORY}`,
    'umask 077',
    `make() { mode=$1; shift; rm -f "$@" || exit ${NOT_REPLACED}`,
    `for file; do : > "$file" || exit ${NOT_MADE}; done; chmod "$mode" "$@" || exit ${NO_MODE}; }`,
    ...byMode(files).map(([mode, paths]) => `make ${mode} ${words(paths)}`),
  ].join('\n')

const applyScript = (files: readonly FileMode[]): string =>
  ['cd', ...byMode(files).map(([mode, paths]) => `chmod ${mode} ${words(paths)}`)]
    .map((step) => `${step} || exit ${NO_MODE}`)
    .join('\n')

const directoryOf = (file: FileMode): string => path.posix.dirname(file.path)

const words = (paths: Iterable<string>): string => Array.from(paths, quoteShell).join(' ')

/** Paths of each mode, written as `chmod` takes it. */
function byMode(files: readonly FileMode[]): readonly [mode: string, paths: readonly string[]][] {
  const modes = new Set(files.map(({ mode }) => mode))
  return Array.from(modes, (mode) => [
    mode.toString(8),
    files.filter((file) => file.mode === mode).map((file) => file.path),
  ])
}

async function runBatches(
  sandbox: Sandbox,
  files: readonly FileMode[],
  script: (batch: readonly FileMode[]) => string,
  signal: AbortSignal | undefined,
): Promise<void> {
  for (const batch of batchesOf(files)) {
    signal?.throwIfAborted()
    await runModeScript(sandbox, script(batch))
  }
}

function batchesOf(files: readonly FileMode[]): readonly (readonly FileMode[])[] {
  const batches: FileMode[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const file of files) {
    const size = Buffer.byteLength(words([file.path, directoryOf(file)])) + 1
    bytes += size
    if (bytes > BATCH_BYTES) {
      batches.push([])
      bytes = size
    }
    batches.at(-1)?.push(file)
  }
  return batches
}

async function runModeScript(sandbox: Sandbox, script: string): Promise<void> {
  const { exitCode, stderr } = await runScript(sandbox, script, { user: undefined, limitMs: SCRIPT_LIMIT_MS })
  if (exitCode === 0) return
  const why = stderr.trim().slice(0, LONGEST_COMPLAINT)
  throw new E2BSandboxError({
    code: 'BAD_REQUEST',
    message: `Setting file modes failed: ${why === '' ? `exit code ${exitCode}` : why}`,
    hint: HINTS.get(exitCode) ?? NO_SHELL_HINT,
  })
}
