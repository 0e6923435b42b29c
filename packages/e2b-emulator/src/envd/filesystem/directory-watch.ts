import type { MessageInitShape } from '@bufbuild/protobuf'
import { Code, ConnectError } from '@connectrpc/connect'
import { posix } from 'node:path'
import { EventType, type FilesystemEventSchema } from '../generated/filesystem/filesystem_pb.ts'
import { RuntimeError, type MachineFiles } from '../../runtime/port.ts'
import { Mailbox } from '../mailbox.ts'
import { attempts } from '../refusals.ts'
import { translated } from '../rpc/errors.ts'
import { entryInfo } from './entry-info.ts'

/** One change, as it was reported. */
export interface ReportedChange {
  readonly name: string
  readonly type: EventType
}

export type FilesystemEventInit = MessageInitShape<typeof FilesystemEventSchema>

/** Events a client may be behind, the depth of the kernel's own queue. Beyond it the watch fails, as there. */
const WATCH_CAPACITY = 16_384

/** What both forms of watching ask for. */
export interface WatchRequest {
  /** Absolute. */
  readonly path: string
  readonly recursive: boolean
  readonly includeEntry: boolean
}

/** Rejects where the path cannot be watched: not there, or no directory. */
export async function assertWatchable(files: MachineFiles, path: string): Promise<void> {
  const { type } = await translated(files.stat(path), attempts.watch(path))
  if (type !== 'directory') throw new ConnectError(`path ${path} not a directory`, Code.InvalidArgument)
}

/** Watches until `stop` is called; the changes lie in `events`, which fails once nobody fetches them. */
export async function watchDirectory(files: MachineFiles, request: WatchRequest) {
  const events = new Mailbox<ReportedChange>(WATCH_CAPACITY)
  const unwatch = await translated(
    files.watch(
      request.path,
      request.recursive,
      ({ name, type }) => {
        if (events.full) events.fail(new ConnectError('too many changes at once, some are lost', Code.Internal))
        else events.put({ name, type: eventTypes[type] }, 1)
      },
      ({ message }) => events.fail(new ConnectError(message, Code.Internal)),
    ),
    attempts.watch(request.path),
  )
  const stop = () => {
    unwatch()
    events.abandon()
  }
  return { events, stop }
}

/** The event with its entry where that was asked for; what is gone by now comes without. */
export async function completed(
  event: ReportedChange,
  files: MachineFiles,
  request: WatchRequest,
): Promise<FilesystemEventInit> {
  if (!request.includeEntry) return event
  try {
    return { ...event, entry: entryInfo(await files.stat(posix.join(request.path, event.name))) }
  } catch (error) {
    const isGone = error instanceof RuntimeError && (error.code === 'not-found' || error.code === 'not-directory')
    if (isGone) return event
    throw error
  }
}

const eventTypes = {
  create: EventType.CREATE,
  write: EventType.WRITE,
  remove: EventType.REMOVE,
  rename: EventType.RENAME,
  chmod: EventType.CHMOD,
} as const
