import { isUtf8 } from 'node:buffer'

/**
 * The name of a file as git and the file system hold it, one character per byte (`latin1`). Read as UTF-8, different names
 * could become one.
 */
export type FileName = string

/** Where the file of that name lies. */
export const locate = (top: string, name: FileName): Buffer =>
  Buffer.concat([Buffer.from(`${top}/`), Buffer.from(name, 'latin1')])

/** The name as text, or `undefined` where it is none. */
export function textOf(name: FileName): string | undefined {
  const bytes = Buffer.from(name, 'latin1')
  return isUtf8(bytes) ? bytes.toString() : undefined
}

/** The name as a person may read it, not fit to find the file by. */
export const readableName = (name: FileName): string => Buffer.from(name, 'latin1').toString()

/** The name a text stands for. */
export const nameOf = (text: string): FileName => Buffer.from(text).toString('latin1')

/** The entries of what git writes under `-z`. */
export const splitNul = (bytes: Buffer | undefined): readonly FileName[] =>
  (bytes?.toString('latin1') ?? '').split('\0').filter((entry) => entry !== '')
