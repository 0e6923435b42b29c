import { Code, ConnectError, type HandlerContext, type ServiceImpl } from '@connectrpc/connect'
import { posix } from 'node:path'
import type { Filesystem } from '../generated/filesystem/filesystem_pb.ts'
import { RuntimeError } from '../../runtime/port.ts'
import { attempts } from '../refusals.ts'
import { followingOf, pathOf, sessionOf, userOf } from '../rpc/context.ts'
import { toRpcError, translated } from '../rpc/errors.ts'
import { assertWatchable, completed, type WatchRequest } from './directory-watch.ts'
import { entryInfo } from './entry-info.ts'

/** `filesystem.Filesystem`. What is not said here about codes is said in {@link translated}. */
export const filesystemService: ServiceImpl<typeof Filesystem> = {
  async stat(request, context) {
    const path = await resolve(request.path, context)
    return { entry: entryInfo(await translated(filesOf(context).stat(path), attempts.stat(path))) }
  },

  async makeDir(request, context) {
    const user = await userOf(context)
    const path = pathOf(request.path, user, context)
    const files = filesOf(context)
    // Something else in the way is the caller's mistake; only a directory "already exists".
    const created = await translated(files.makeDirectory(path, user.name), attempts.makeDirectory(path), {
      codes: { exists: Code.InvalidArgument },
    })
    if (!created) throw new ConnectError(`directory already exists: ${path}`, Code.AlreadyExists)
    return { entry: entryInfo(await translated(files.stat(path), attempts.stat(path))) }
  },

  async move(request, context) {
    const user = await userOf(context)
    const source = pathOf(request.source, user, context)
    const destination = pathOf(request.destination, user, context)
    const files = filesOf(context)
    const parent = posix.dirname(destination)
    await translated(files.makeDirectory(parent, user.name), attempts.makeParents(parent), {
      codes: { 'not-directory': Code.Internal },
    })
    const moved = translated(files.move(source, destination), attempts.move(source, destination))
    return { entry: entryInfo(await moved) }
  },

  async listDir(request, context) {
    const path = await resolve(request.path, context)
    const listed = filesOf(context).list(path, request.depth === 0 ? 1 : request.depth)
    const entries = await translated(listed, attempts.list(path))
    return { entries: entries.map(entryInfo) }
  },

  async remove(request, context) {
    const path = await resolve(request.path, context)
    try {
      await filesOf(context).remove(path)
    } catch (error) {
      const alreadyGone = error instanceof RuntimeError && error.code === 'not-found'
      if (!alreadyGone) throw toRpcError(error, attempts.remove(path))
    }
    return {}
  },

  async *watchDir(request, context) {
    const watch = await watchRequest(request, context)
    const { files } = sessionOf(context).sandbox.machine
    const { events, stop } = await sessionOf(context).watchers.open(watch)
    try {
      yield { event: { case: 'start', value: {} } }
      for await (const event of events.follow(followingOf(context))) {
        yield event === undefined
          ? { event: { case: 'keepalive', value: {} } }
          : {
              event: {
                case: 'filesystem',
                value: await translated(completed(event, files, watch), attempts.stat(watch.path)),
              },
            }
      }
    } finally {
      stop()
    }
  },

  async createWatcher(request, context) {
    return { watcherId: await sessionOf(context).watchers.create(await watchRequest(request, context)) }
  },

  async getWatcherEvents({ watcherId }, context) {
    const events = await translated(sessionOf(context).watchers.take(watcherId))
    if (events === undefined) throw unknownWatcher(watcherId)
    return { events }
  },

  removeWatcher({ watcherId }, context) {
    if (!sessionOf(context).watchers.remove(watcherId)) throw unknownWatcher(watcherId)
    return {}
  },
}

async function resolve(path: string, context: HandlerContext): Promise<string> {
  return pathOf(path, await userOf(context), context)
}

function filesOf(context: HandlerContext) {
  return sessionOf(context).sandbox.machine.files
}

async function watchRequest(
  request: { readonly path: string; readonly recursive: boolean; readonly includeEntry: boolean },
  context: HandlerContext,
): Promise<WatchRequest> {
  const path = await resolve(request.path, context)
  await assertWatchable(filesOf(context), path)
  const session = sessionOf(context)
  return {
    path,
    recursive: request.recursive && session.can('recursiveWatch'),
    includeEntry: request.includeEntry && session.can('eventEntry'),
  }
}

function unknownWatcher(id: string): ConnectError {
  return new ConnectError(`watcher with id ${id} not found`, Code.NotFound)
}
