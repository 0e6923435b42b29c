import path from 'node:path'
import type { WorkspaceFilesystem } from '@mastra/core/workspace'
import { findUnknownName } from '@warmbox/resolution'
import { E2BSandboxError } from '../errors.ts'

/** @throws E2BSandboxError `INVALID_OPTION`; the value is not quoted, since it may be a secret */
export function refuseMount(message: string, hint: string): never {
  throw new E2BSandboxError({ code: 'INVALID_OPTION', message, hint })
}

const CONTROL = /\p{Cc}/u

/** A non-empty string that fits on one line. */
export function oneLine(field: string, value: unknown): string {
  if (typeof value !== 'string' || value === '') return refuseMount(`${field} is empty`, `Give ${field} as a string`)
  return CONTROL.test(value) ? refuseMount(`${field} holds a control character`, `Remove it from ${field}`) : value
}

/** A bucket or container by its service's grammar, which starts with no dash and holds no slash, comma or space. */
export function bucketName(field: string, value: unknown, grammar: RegExp): string {
  const name = oneLine(field, value)
  return grammar.test(name)
    ? name
    : refuseMount(`${field} is no bucket name`, 'Give the name alone, without URL or path')
}

export function regionName(value: unknown): string {
  const region = oneLine('region', value)
  return /^[a-z0-9][a-z0-9-]{0,62}$/i.test(region)
    ? region
    : refuseMount('region is no region name', `Write it like 'eu-central-1', or 'auto' for R2`)
}

/** An http or https URL without credentials, query and fragment. Commas would end an option of s3fs. */
export function endpointUrl(field: string, value: unknown): string {
  const text = oneLine(field, value)
  const url = URL.parse(text)
  const isPlain =
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    [url.username, url.password, url.search, url.hash].every((part) => part === '') &&
    !/[,\s]/.test(text)
  return isPlain
    ? text.replace(/\/+$/, '')
    : refuseMount(`${field} is no endpoint`, 'Write it like https://s3.example.com')
}

/** The prefix without slashes around it; undefined where the whole bucket is meant. */
export function keyPrefix(value: unknown): string | undefined {
  if (value === undefined) return undefined
  const segments = oneLine('prefix', value)
    .split('/')
    .filter((segment) => segment !== '')
  if (segments.length === 0 || segments.some((segment) => segment === '.' || segment === '..')) {
    refuseMount('prefix names no directory', 'Write it like data/raw, without . and ..')
  }
  return segments.join('/')
}

/** What nothing may be mounted over: the sandbox would not survive it. */
const SYSTEM_DIRECTORIES = new Set(
  [
    '/',
    '/bin',
    '/boot',
    '/dev',
    '/etc',
    '/home',
    '/home/user',
    '/lib',
    '/lib64',
    '/proc',
    '/root',
    '/run',
    '/sbin',
    '/sys',
  ].concat(['/tmp', '/usr', '/usr/bin', '/usr/lib', '/usr/local', '/usr/sbin', '/var', '/var/lib']),
)

/** The mount path in its one spelling. @throws E2BSandboxError `INVALID_OPTION` */
export function mountDirectory(value: unknown): string {
  const text = oneLine('mountPath', value)
  const isAbsolute = text.startsWith('/') && !text.split('/').includes('..')
  const directory = path.posix.normalize(text).replace(/(?<=.)\/$/, '')
  return isAbsolute && !SYSTEM_DIRECTORIES.has(directory)
    ? directory
    : refuseMount('mountPath is no directory to mount at', 'Give an absolute path such as /data, no system directory')
}

/** @throws E2BSandboxError `INVALID_OPTION` for what is no file system */
export function assertMountable(filesystem: WorkspaceFilesystem): void {
  if (typeof filesystem === 'object' && filesystem !== null) return
  refuseMount('filesystem is not a file system', 'Give one that has getMountConfig()')
}

/** @throws E2BSandboxError `INVALID_OPTION` for what is no list of directories */
export function assertMountPaths(paths: readonly string[]): void {
  if (!Array.isArray(paths)) refuseMount('The mount paths are not a list', `Write them like ['/data']`)
  for (const mountPath of paths) mountDirectory(mountPath)
}

/**
 * Refuses names that are those of a configuration but for a typing error, such as `readonly`, which would have the
 * bucket mounted writable. Others are whoever's: file systems may tell of more than mounting takes.
 */
export function assertSpelling(config: object, known: readonly string[]): void {
  for (const [name, value] of Object.entries(config)) {
    const unknown = findUnknownName({ [name]: value }, known)
    if (unknown?.nearest !== undefined) refuseMount(`A mount has no '${unknown.name}'`, unknown.hint)
  }
}

/** A switch that is true, false or absent. */
export function isSwitchedOn(field: string, value: unknown): boolean {
  if (value === undefined || typeof value === 'boolean') return value === true
  return refuseMount(`${field} is neither true nor false`, `Give true or false as ${field}, or leave it out`)
}
