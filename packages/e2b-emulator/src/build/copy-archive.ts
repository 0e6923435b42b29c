import { createReadStream } from 'node:fs'
import { posix } from 'node:path'
import { Readable } from 'node:stream'
import { Pack, Parser, type ReadEntry } from 'tar'

/** What the source of a COPY names in its uploaded archive. */
export interface CopySource {
  readonly name: string
  readonly isDirectory: boolean
  /** A gzip tar of the one file under this name, or of what is in the directory. */
  archiveAs(name: string): Promise<ReadableStream<Uint8Array>>
}

/**
 * Finds what a COPY is to bring; undefined where the archive does not hold it. The client has looked up patterns already:
 * one stands for all that was uploaded of the directory above it.
 */
export async function findCopySource(file: string, source: string): Promise<CopySource | undefined> {
  const path = clean(directoryAbovePattern(source))
  const below = path === '' ? '' : `${path}/`
  const entries = await readEntries(file)
  const own = entries.find((entry) => entry.path === path)
  const isDirectory = own?.isDirectory ?? entries.some((entry) => entry.path.startsWith(below))
  if (own === undefined && !isDirectory) return undefined
  return {
    name: posix.basename(path),
    isDirectory,
    archiveAs: (name) =>
      repack(file, (entry) => {
        if (!isDirectory) return entry === path ? name : undefined
        return entry.startsWith(below) && entry !== path ? entry.slice(below.length) : undefined
      }),
  }
}

/** The leading part of a source without the first segment that is a pattern, and all after it. */
function directoryAbovePattern(source: string): string {
  const segments = source.split('/')
  const pattern = segments.findIndex((segment) => /[*?[{]/.test(segment))
  return pattern === -1 ? source : segments.slice(0, pattern).join('/')
}

interface EntryName {
  readonly path: string
  readonly isDirectory: boolean
}

/** Relative to the context; empty where it is the context itself. */
const clean = (path: string) =>
  posix
    .normalize(path)
    .replace(/^(?:\.?\/)+/, '')
    .replace(/\/$/, '')
    .replace(/^\.$/, '')

async function readEntries(file: string): Promise<EntryName[]> {
  const entries: EntryName[] = []
  await parse(file, (entry) => {
    entries.push({ path: clean(entry.path), isDirectory: entry.type === 'Directory' })
    entry.resume()
  })
  return entries
}

async function repack(file: string, rename: (path: string) => string | undefined): Promise<ReadableStream<Uint8Array>> {
  const pack = new Pack({ gzip: { level: 1 } })
  const output = new ReadableStream<Uint8Array>({
    start(controller) {
      pack.on('data', (chunk) => controller.enqueue(new Uint8Array(chunk)))
      pack.on('end', () => controller.close())
      pack.on('error', (error: unknown) => controller.error(error))
    },
    pull: () => pack.resume(),
  })
  await parse(file, (entry) => {
    const path = rename(clean(entry.path))
    if (path === undefined) {
      entry.resume()
      return
    }
    entry.path = path
    // A further name of a file in the archive, which has got a new name too.
    const first = entry.type === 'Link' ? rename(clean(entry.linkpath ?? '')) : undefined
    if (first !== undefined) entry.linkpath = first
    pack.add(entry)
  })
  pack.end()
  return output
}

async function parse(file: string, onReadEntry: (entry: ReadEntry) => void): Promise<void> {
  const parser = new Parser({ onReadEntry })
  const ended = new Promise<void>((resolve, reject) => {
    parser.on('end', resolve)
    parser.on('error', reject)
  })
  for await (const chunk of createReadStream(file)) {
    if (!parser.write(chunk)) await new Promise<void>((resolve) => parser.once('drain', resolve))
  }
  parser.end()
  await ended
}

/** The bytes of a request body, for writing to a file. */
export const bodyStream = (body: ReadableStream<Uint8Array>) => Readable.fromWeb(body)
