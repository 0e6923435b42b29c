import { join } from 'node:path'

import { fail } from './error.ts'
import { type FileName, locate, readableName, splitNul, textOf } from './file-name.ts'
import { gitBytes } from './git.ts'
import { present } from './present.ts'

/** One file of git's index. */
export interface IndexEntry {
  readonly name: FileName
  readonly kind: 'file' | 'executable' | 'link' | 'submodule'
  /** Of its contents; the commit of a submodule. */
  readonly oid: string
  /** Whether git was told not to expect it on disk, as a sparse checkout does. */
  readonly skipped: boolean
  /** Whether git was told to believe it unchanged. */
  readonly assumed: boolean
}

/** The index of the checkout whose top is `top`, what lies in submodules left out; a file in conflict once per side. */
export async function readIndex(top: string): Promise<readonly IndexEntry[]> {
  return splitNul(await gitBytes(top, ['ls-files', '-z', '-v', '--stage'])).map((line) => {
    const [state = '', mode = '', oid = ''] = line.split(' ', 3)
    return {
      name: line.slice(line.indexOf('\t') + 1),
      kind: kinds.get(mode) ?? 'file',
      oid,
      skipped: state.toUpperCase() === 'S',
      assumed: state !== state.toUpperCase(),
    }
  })
}

const kinds: ReadonlyMap<string, IndexEntry['kind']> = new Map([
  ['100755', 'executable'],
  ['120000', 'link'],
  ['160000', 'submodule'],
])

/** Whether a checkout of its own lies in a directory; without one git would answer for the checkout around it. */
export const isCheckout = async (directory: string): Promise<boolean> =>
  (await present(join(directory, '.git'))) !== undefined

/** The directory of that name, to run git in. */
export function directoryOf(top: string, name: FileName): string {
  const text = textOf(name)
  if (text === undefined) {
    const what = JSON.stringify(readableName(name))
    fail('FILE_UNUSABLE', `The name of the directory ${what} is not UTF-8.`, 'Give it a name that is.')
  }
  return locate(top, name).toString()
}

/** The committed bytes of a file or the target of a link. */
export const readBlob = async (top: string, { oid }: IndexEntry): Promise<Buffer> =>
  (await gitBytes(top, ['cat-file', 'blob', oid])) ?? Buffer.of()
