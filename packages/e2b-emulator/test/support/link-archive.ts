import { gzipSync } from 'node:zlib'
import { Header } from 'tar'

/** A gzip tar of one symbolic link, for machines that have no `ln`. */
export function linkArchive(path: string, target: string): ReadableStream<Uint8Array> {
  const block = Buffer.alloc(512)
  new Header({ path, linkpath: target, type: 'SymbolicLink', mode: 0o777, size: 0, mtime: new Date(0) }).encode(block)
  return new Blob([gzipSync(Buffer.concat([block, Buffer.alloc(1024)]))]).stream()
}
