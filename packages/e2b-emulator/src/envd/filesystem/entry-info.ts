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
    mode: entry.mode,
    permissions: permissionsOf(entry),
    owner: entry.owner,
    group: entry.group,
    modifiedTime: timestampFromDate(entry.modifiedAt),
    ...(entry.symlinkTarget === undefined ? {} : { symlinkTarget: entry.symlinkTarget }),
  }
}

const typeFor = { file: FileType.FILE, directory: FileType.DIRECTORY } as const

/** As the platform prints a mode: `-rw-r--r--`, `drwxr-xr-x`, and a capital `L` for a link. */
function permissionsOf(entry: FileEntry): string {
  const kind = entry.symlinkTarget !== undefined ? 'L' : entry.type === 'directory' ? 'd' : '-'
  const bits = Array.from('rwxrwxrwx', (letter, index) => ((entry.mode >> (8 - index)) & 1 ? letter : '-'))
  return kind + bits.join('')
}
