import path from 'node:path'
import type { SandboxFileInput } from '@mastra/core/workspace'
import { quoteShell } from '@warmbox/resolution'
import type { Sandbox } from 'e2b'
import { E2BSandboxError } from './errors.ts'
import { type FileUpload, processEnd, startProcess, uploadFiles } from './sdk.ts'

const LARGEST_MODE = 0o777

/** Setting a mode takes no time; longer means that something is broken. */
const SCRIPT_LIMIT_MS = 60_000

/** @throws E2BSandboxError `INVALID_OPTION` for an empty path or a mode that is none */
export function assertFiles(files: readonly SandboxFileInput[]): void {
  for (const { path: file, mode } of files) {
    if (file === '' || file.includes('\0')) {
      throw new E2BSandboxError({ code: 'INVALID_OPTION', message: 'A file has no usable path', hint: 'Give a path' })
    }
    if (mode === undefined || (Number.isInteger(mode) && mode >= 1 && mode <= LARGEST_MODE)) continue
    throw new E2BSandboxError({
      code: 'INVALID_OPTION',
      message: `The mode of ${file} is no permission mode: ${mode}`,
      hint: 'Give a whole number from 0o001 to 0o777, such as 0o600',
    })
  }
}

/**
 * Writes files, making their directories. Rejects with the SDK's own errors.
 * @throws E2BSandboxError `BAD_REQUEST` where a mode could not be set
 */
export async function writeSandboxFiles(
  sandbox: Sandbox,
  files: readonly SandboxFileInput[],
  signal: AbortSignal | undefined,
): Promise<void> {
  await runScript(sandbox, prepareModes(files))
  await uploadFiles(sandbox, toUploads(files), signal)
  await runScript(sandbox, applyModes(files))
}

const toUploads = (files: readonly SandboxFileInput[]): FileUpload[] =>
  files.map(({ path: file, content }) => ({
    path: file,
    data: typeof content === 'string' ? content : new Uint8Array(content).buffer,
  }))

const withModes = (files: readonly SandboxFileInput[]): { word: string; directory: string; mode: string }[] =>
  files.flatMap(({ path: file, mode }) =>
    mode === undefined
      ? []
      : [
          {
            word: quoteShell(operand(file)),
            directory: quoteShell(operand(path.posix.dirname(file))),
            mode: mode.toString(8),
          },
        ],
  )

/** A path that no command takes for an option. */
const operand = (file: string): string => (file.startsWith('-') ? `./${file}` : file)

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
 * Command that makes files with a mode before their content arrives, so that a secret is never readable by others in
 * between. Empty where no file has one.
 */
const prepareModes = (files: readonly SandboxFileInput[]): string =>
  withModes(files)
    .map(
      ({ word, directory, mode }) =>
        `mkdir -p ${directory} || exit ${NO_DIRECTORY}; rm -f ${word} || exit ${NOT_REPLACED}; ` +
        `(umask 077 && : > ${word}) || exit ${NOT_MADE}; chmod ${mode} ${word} || exit ${NO_MODE}`,
    )
    .join('; ')

/** Command that sets the modes again after the upload, which may have made the files anew. */
const applyModes = (files: readonly SandboxFileInput[]): string =>
  withModes(files)
    .map(({ word, mode }) => `chmod ${mode} ${word} || exit ${NO_MODE}`)
    .join('; ')

/** Runs a script of our own in the home directory, which is where relative paths of uploads begin. */
async function runScript(sandbox: Sandbox, script: string): Promise<void> {
  if (script === '') return
  let complaint = ''
  const process = await startProcess(sandbox, script, {
    cwd: undefined,
    envs: {},
    stdin: false,
    limitMs: SCRIPT_LIMIT_MS,
    onStdout: () => undefined,
    onStderr: (data) => {
      complaint += data
    },
  })
  const { exitCode } = await processEnd(process)
  if (exitCode === 0) return
  const why = complaint.trim()
  throw new E2BSandboxError({
    code: 'BAD_REQUEST',
    message: `Setting file modes failed: ${why === '' ? `exit code ${exitCode}` : why}`,
    hint: HINTS.get(exitCode) ?? NO_SHELL_HINT,
  })
}
