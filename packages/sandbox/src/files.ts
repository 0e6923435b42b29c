import type { SandboxFileInput } from '@mastra/core/workspace'
import { findUnknownName } from '@warmbox/resolution'
import type { Sandbox } from 'e2b'
import { applyModes, type FileMode, makeWithModes } from './file-modes.ts'
import { assertRecord, refuse } from './option-checks.ts'
import { sandboxPath } from './sandbox-path.ts'
import { uploadFiles } from './sdk.ts'

const LARGEST_MODE = 0o777

const PARTS: Readonly<Record<keyof SandboxFileInput, true>> = { path: true, content: true, mode: true }

/** A file as it is written: checked, its path in the one spelling, its content as it was when it was given. */
export interface FileToWrite {
  /** Absolute, or from `./` on in the home directory. */
  readonly path: string
  readonly data: string | ArrayBuffer
  readonly mode: number | undefined
}

/** @throws E2BSandboxError `INVALID_OPTION` for a path, content or mode that is none, and for what is no list of files */
export function resolveFiles(files: readonly SandboxFileInput[]): readonly FileToWrite[] {
  if (!Array.isArray(files)) return refuse('files is not a list', 'Give a list like [{ path, content }]')
  return Array.from(files, resolveFile)
}

function resolveFile(file: SandboxFileInput): FileToWrite {
  // A list may have holes.
  assertRecord('a file', file ?? null)
  const unknown = findUnknownName(file, Object.keys(PARTS))
  if (unknown !== undefined) refuse(`A file has no part '${unknown.name}'`, unknown.hint)
  const path = sandboxPath(file.path)
  return { path, data: dataOf(path, file.content), mode: modeOf(path, file.mode) }
}

function dataOf(path: string, content: unknown): string | ArrayBuffer {
  if (typeof content === 'string') return content
  if (ArrayBuffer.isView(content)) {
    return new Uint8Array(content.buffer, content.byteOffset, content.byteLength).slice().buffer
  }
  if (content instanceof ArrayBuffer) return content.slice()
  return refuse(`The content of ${path} is neither text nor bytes`, 'Give a string, a Buffer or a Uint8Array')
}

function modeOf(path: string, mode: unknown): number | undefined {
  if (mode === undefined) return undefined
  if (typeof mode === 'number' && Number.isInteger(mode) && mode >= 1 && mode <= LARGEST_MODE) return mode
  return refuse(
    `The mode of ${path} is no permission mode${typeof mode === 'number' ? `: ${mode}` : ''}`,
    'Give a whole number from 0o001 to 0o777, such as 0o600',
  )
}

/**
 * Writes files in one upload, making their directories. Rejects with the SDK's own errors.
 * @throws E2BSandboxError `BAD_REQUEST` where a mode could not be set
 */
export async function writeSandboxFiles(
  sandbox: Sandbox,
  files: readonly FileToWrite[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const modes = files.flatMap(({ path, mode }): FileMode[] => (mode === undefined ? [] : [{ path, mode }]))
  await makeWithModes(sandbox, modes, signal)
  await uploadFiles(sandbox, files, signal)
  await applyModes(sandbox, modes, signal)
}
