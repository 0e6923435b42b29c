import { createReadStream } from 'node:fs'
import { posix } from 'node:path'
import { Readable } from 'node:stream'
import { matchesGlob } from 'node:path'
import { Pack, Parser, type ReadEntry } from 'tar'

/** An entry of an uploaded archive whose place in the machine is decided. */
export interface PlacedArchive {
  /** A gzip tar whose paths are relative to the root of the machine. */
  readonly archive: ReadableStream<Uint8Array>
  readonly entryCount: number
}

/**
 * Re-labels an uploaded archive so that unpacking it at `/` does what COPY means: a file becomes the destination, or goes
 * into it where the destination ends with a slash or several files match; a directory's contents are merged into it.
 */
export async function placeArchive(file: string, source: string, destination: string): Promise<PlacedArchive> {
  const entries = await readEntries(file)
  const rename = planNames(entries, source, destination)
  const placed = entries.flatMap((entry) => {
    const path = rename(entry)
    return path === undefined ? [] : [{ entry, path }]
  })
  return {
    entryCount: placed.length,
    archive: await repack(file, new Map(placed.map(({ entry, path }) => [entry.path, path]))),
  }
}

interface EntryName {
  readonly path: string
  readonly directory: boolean
}

const clean = (path: string) =>
  posix
    .normalize(path)
    .replace(/^(?:\.?\/)+/, '')
    .replace(/\/$/, '')

async function readEntries(file: string): Promise<EntryName[]> {
  const entries: EntryName[] = []
  await parse(file, (entry) => {
    entries.push({ path: entry.path, directory: entry.type === 'Directory' })
    entry.resume()
  })
  return entries
}

function planNames(entries: readonly EntryName[], source: string, destination: string) {
  const wanted = clean(source)
  const isMatch = (path: string) => path === wanted || wanted === '' || wanted === '.' || matchesGlob(path, wanted)
  /** The shortest leading part of the path that the source names. */
  const matchOf = (path: string): string | undefined => {
    if (wanted === '' || wanted === '.') return ''
    const segments = path.split('/')
    return segments.map((_, index) => segments.slice(0, index + 1).join('/')).find(isMatch)
  }
  const matches = new Set(entries.map(({ path }) => matchOf(clean(path))).filter((match) => match !== undefined))
  const isDirectory = (match: string) =>
    match === '' ||
    entries.some(({ path, directory }) => (clean(path) === match ? directory : clean(path).startsWith(`${match}/`)))
  const intoDirectory = destination.endsWith('/') || matches.size > 1

  return ({ path }: EntryName): string | undefined => {
    const match = matchOf(clean(path))
    if (match === undefined) return undefined
    const inside = match === '' ? clean(path) : clean(path).slice(match.length + 1)
    if (isDirectory(match)) return relativeToRoot(posix.join(destination, inside))
    return relativeToRoot(intoDirectory ? posix.join(destination, posix.basename(match)) : destination)
  }
}

const relativeToRoot = (path: string) => posix.relative('/', posix.resolve('/', path)) || '.'

async function repack(file: string, names: ReadonlyMap<string, string>): Promise<ReadableStream<Uint8Array>> {
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
    const path = names.get(entry.path)
    if (path === undefined) {
      entry.resume()
      return
    }
    entry.path = path
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
