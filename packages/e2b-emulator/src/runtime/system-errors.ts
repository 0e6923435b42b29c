import { RuntimeError, type RuntimeErrorCode } from './port.ts'

/** What the system refuses with, by the name it has for that, and its words for it. */
const words = {
  E2BIG: 'argument list too long',
  EACCES: 'permission denied',
  EAGAIN: 'resource temporarily unavailable',
  EBUSY: 'device or resource busy',
  EDQUOT: 'disk quota exceeded',
  EEXIST: 'file exists',
  EFBIG: 'file too large',
  EINVAL: 'invalid argument',
  EIO: 'input/output error',
  EISDIR: 'is a directory',
  ELOOP: 'too many levels of symbolic links',
  EMFILE: 'too many open files',
  EMLINK: 'too many links',
  ENAMETOOLONG: 'file name too long',
  ENFILE: 'too many open files in system',
  ENODEV: 'no such device',
  ENOENT: 'no such file or directory',
  ENOEXEC: 'exec format error',
  ENOMEM: 'cannot allocate memory',
  ENOSPC: 'no space left on device',
  ENOTDIR: 'not a directory',
  ENOTEMPTY: 'directory not empty',
  ENOTSUP: 'operation not supported',
  ENXIO: 'no such device or address',
  EPERM: 'operation not permitted',
  EROFS: 'read-only file system',
  ETXTBSY: 'text file busy',
  EXDEV: 'invalid cross-device link',
} as const

/** The name of an error of the system: `ENOENT`. */
export type SystemErrorName = keyof typeof words

/** Those that are a failure of a kind of its own; all others are `failed`. */
const codes: Partial<Readonly<Record<SystemErrorName, RuntimeErrorCode>>> = {
  ENOENT: 'not-found',
  EISDIR: 'is-directory',
  ENOTDIR: 'not-directory',
  EEXIST: 'exists',
  ENOTEMPTY: 'exists',
  ENOSPC: 'no-space',
  EDQUOT: 'no-space',
}

const isSystemErrorName = (name: string): name is SystemErrorName => Object.hasOwn(words, name)

/** A refusal of a machine's system. A name that is none of those above counts as an error of input or output. */
export class SystemError extends RuntimeError {
  readonly system: SystemErrorName
  /** The call and its paths: `rename /a /b`. */
  readonly attempt: string

  constructor(name: string, attempt: string, options?: { cause?: unknown }) {
    const system = isSystemErrorName(name) ? name : 'EIO'
    super(codes[system] ?? 'failed', `${attempt}: ${words[system]}`, options)
    this.system = system
    this.attempt = attempt
  }

  /** Its words alone, without what was attempted. */
  get words(): string {
    return words[this.system]
  }
}
