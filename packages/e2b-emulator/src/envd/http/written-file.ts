import type { FileEntry } from '../../runtime/port.ts'

/** What is told of a file that was just written. */
export interface WrittenFile {
  readonly name: string
  readonly path: string
  readonly type: 'file'
  readonly metadata?: Readonly<Record<string, string>>
}

/** `path` as the client will ask for it. */
export function writtenFile(path: string, { name, metadata }: FileEntry): WrittenFile {
  return { name, path, type: 'file', ...(Object.keys(metadata).length === 0 ? {} : { metadata }) }
}
