import type { MessageInitShape } from '@bufbuild/protobuf'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import { type EntryInfoSchema, FileType } from '../generated/filesystem/filesystem_pb.ts'
import type { FileEntry } from '../../runtime/port.ts'

/** The wire form of a directory entry. */
export function entryInfo(entry: FileEntry): MessageInitShape<typeof EntryInfoSchema> {
  return {
    name: entry.name,
    type: typeFor[entry.type],
    path: entry.path,
    size: BigInt(entry.size),
    mode: entry.mode & 0o777,
    permissions: permissionsOf(entry),
    owner: entry.owner,
    group: entry.group,
    modifiedTime: timestampFromDate(entry.modifiedAt),
    ...(entry.symlinkTarget === undefined ? {} : { symlinkTarget: entry.symlinkTarget }),
    metadata: { ...entry.metadata },
  }
}

/** What is neither has no type on the wire; the SDK leaves it out of a listing. */
const typeFor = { file: FileType.FILE, directory: FileType.DIRECTORY, other: FileType.UNSPECIFIED } as const

/** As the platform prints a mode, every kind a letter of its own: `-rw-r--r--`, `drwxr-xr-x`, `dtrwxrwxrwx`, `Lrwxrwxrwx`. */
function permissionsOf({ type, mode, symlinkTarget }: FileEntry): string {
  // The mode of a link is that of what it leads to; its own is always the same.
  const isOwn = symlinkTarget === undefined
  const kinds: readonly (readonly [letter: string, applies: boolean])[] = [
    ['d', type === 'directory' && isOwn],
    ['L', !isOwn],
    ['u', isOwn && (mode & 0o4000) !== 0],
    ['g', isOwn && (mode & 0o2000) !== 0],
    ['t', isOwn && (mode & 0o1000) !== 0],
  ]
  const kind = kinds.map(([letter, applies]) => (applies ? letter : '')).join('')
  const shown = isOwn ? mode : 0o777
  const bits = Array.from('rwxrwxrwx', (letter, index) => ((shown >> (8 - index)) & 1 ? letter : '-'))
  return (kind === '' ? '-' : kind) + bits.join('')
}
