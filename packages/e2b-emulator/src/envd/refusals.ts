import type { SystemError, SystemErrorName } from '../runtime/system-errors.ts'

/** How the platform's daemon words what the system refused while it did one thing. */
export interface Attempt {
  /** Stands before the words of the system. */
  readonly refused: string
  /** The whole message where nothing is there and the daemon tells that apart. */
  readonly missing?: string
  /** The whole message for links that lead in a circle, where the daemon tells that apart. */
  readonly circular?: string
}

const NOTHING_THERE = 'no such file or directory'

/** Everything that envd attempts in a machine. The words are those of the platform's daemon, which SDKs pass on. */
export const attempts = {
  stat: (path: string): Attempt => ({
    missing: `file not found: lstat ${path}: ${NOTHING_THERE}`,
    refused: `error getting file info: lstat ${path}`,
  }),
  list: (path: string): Attempt => ({
    missing: `path not found: lstat ${path}: ${NOTHING_THERE}`,
    circular: `cyclic symlink or chain >255 links at "${path}"`,
    refused: `error resolving symlink: lstat ${path}`,
  }),
  makeDirectory: (path: string): Attempt => ({ refused: `error getting file info: stat ${path}` }),
  makeParents: (path: string): Attempt => ({ refused: `failed to stat directory: stat ${path}` }),
  move: (from: string, to: string): Attempt => ({
    missing: `source file not found: rename ${from} ${to}: ${NOTHING_THERE}`,
    refused: `error renaming: rename ${from} ${to}`,
  }),
  remove: (path: string): Attempt => ({ refused: `error removing file or directory: unlinkat ${path}` }),
  watch: (path: string): Attempt => ({
    missing: `path ${path} not found: stat ${path}: ${NOTHING_THERE}`,
    refused: `error statting path ${path}: stat ${path}`,
  }),
  start: (command: string, args: readonly string[]): Attempt => ({
    refused: `error starting process '${[command, ...args].join(' ')}': fork/exec ${command}`,
  }),
  download: (path: string): Attempt => ({
    missing: `path '${path}' does not exist`,
    refused: `error opening file '${path}': open ${path}`,
  }),
  upload: (path: string): Attempt => ({ refused: `error opening file: open ${path}` }),
  compose: (path: string): Attempt => ({
    missing: 'source file not found',
    refused: `error creating destination file: open ${path}`,
  }),
} as const

/** What a refusal comes to, whichever protocol it is told by. */
export type RefusalKind = 'missing' | 'circular' | 'full' | 'exhausted' | 'refused'

const kinds: Partial<Readonly<Record<SystemErrorName, RefusalKind>>> = {
  ENOENT: 'missing',
  ELOOP: 'circular',
  ENOSPC: 'full',
  EDQUOT: 'full',
  EAGAIN: 'exhausted',
  ENOMEM: 'exhausted',
  EMFILE: 'exhausted',
  ENFILE: 'exhausted',
}

/** The kind and the message; `missing` and `circular` only where the attempt tells them apart. */
export function refusalOf(
  error: SystemError,
  attempt: Attempt,
): { readonly kind: RefusalKind; readonly message: string } {
  const kind = kinds[error.system] ?? 'refused'
  const message = `${attempt.refused}: ${error.words}`
  switch (kind) {
    case 'missing':
      return attempt.missing === undefined ? { kind: 'refused', message } : { kind, message: attempt.missing }
    case 'circular':
      return attempt.circular === undefined ? { kind: 'refused', message } : { kind, message: attempt.circular }
    case 'full':
    case 'exhausted':
    case 'refused':
      return { kind, message }
  }
}
