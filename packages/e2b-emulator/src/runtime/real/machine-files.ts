import { RuntimeError, type FileEntry, type MachineFiles } from '../port.ts'
import type { AgentCalls, AgentFileEntry } from './agent/contract.ts'
import type { MachineChannel } from './channel.ts'
import { failureOf } from './results.ts'

/** File operations of a machine, done by the program inside it. */
export function createMachineFiles(channel: MachineChannel): MachineFiles {
  return {
    stat: async (path) => toEntry(await channel.request('stat', { path })),
    list: async (path, depth) => (await channel.request('list', { path, depth })).map(toEntry),
    makeDirectory: (path, owner) => channel.request('makeDirectory', { path, owner }),
    move: async (from, to) => toEntry(await channel.request('move', { from, to })),
    remove: async (path) => {
      await channel.request('remove', { path })
    },
    read: (path) => download(channel, path),
    write: async (path, content, owner, { mode, metadata } = {}) =>
      toEntry(await upload(channel, 'write', { path, owner, mode: mode ?? null, metadata: metadata ?? {} }, content)),
    concatenate: async (sources, path, owner) =>
      toEntry(await channel.request('concatenate', { sources, path, owner })),
    unpack: async (archive, path, { owner, mode }) => {
      await upload(channel, 'unpack', { path, owner, mode: mode ?? null }, archive)
    },
    own: async (path, owner) => {
      await channel.request('own', { path, owner })
    },
    homeOf: (user) => channel.request('homeOf', { user }),
    async watch(path, recursive, listener, onEnd) {
      const call = channel.open(
        'watch',
        { path, recursive },
        {
          event: (event) => {
            if (event.type === 'change') listener({ name: event.name, type: event.change })
            if (event.type !== 'failed') return
            call.finish()
            onEnd?.(failureOf(event.failure))
          },
        },
      )
      try {
        await call.reply
      } catch (error) {
        call.finish()
        throw error
      }
      return () => {
        call.send('cancel')
        call.finish()
      }
    },
  }
}

async function download(channel: MachineChannel, path: string): Promise<ReadableStream<Uint8Array>> {
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  let over = false
  const unread: number[] = []
  const stop = (failure?: RuntimeError) => {
    if (over) return
    over = true
    call.finish()
    if (failure === undefined) controller?.close()
    else controller?.error(failure)
  }
  const body = new ReadableStream<Uint8Array>(
    {
      start: (given) => {
        controller = given
      },
      pull: () => {
        // What was taken from the queue makes room for as much.
        const taken = unread.splice(0, unread.length).reduce((sum, bytes) => sum + bytes, 0)
        if (taken > 0 && !over) call.credit(taken)
      },
      cancel: () => {
        over = true
        call.send('cancel')
        call.finish()
      },
    },
    { highWaterMark: 1 },
  )
  const call = channel.open(
    'read',
    { path },
    {
      data: (payload) => {
        if (over) return
        unread.push(payload.length)
        controller?.enqueue(payload)
      },
      event: (event) => {
        if (event.type === 'failed') stop(failureOf(event.failure))
      },
      end: () => stop(),
      closed: () => stop(new RuntimeError('gone', 'the machine has ended')),
    },
  )
  try {
    await call.reply
  } catch (error) {
    over = true
    call.finish()
    throw error
  }
  return body
}

/** Sends a stream as the body of a call and waits for its result; the source is cancelled when the machine refuses. */
async function upload<Method extends 'write' | 'unpack'>(
  channel: MachineChannel,
  method: Method,
  parameters: AgentCalls[Method]['parameters'],
  content: ReadableStream<Uint8Array>,
): Promise<AgentCalls[Method]['result']> {
  const window = channel.createWindow()
  const reader = content.getReader()
  const call = channel.open(method, parameters, {
    credit: (bytes) => window.release(bytes),
    closed: () => window.close(),
  })
  call.reply.catch((error: unknown) => {
    window.close()
    // The caller hears the machine's refusal; that the source could not be cancelled as well adds nothing.
    reader.cancel(error).catch(() => undefined)
  })
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      for (let offset = 0; offset < value.length; offset += channel.chunkBytes) {
        const chunk = value.subarray(offset, offset + channel.chunkBytes)
        if (await window.reserve(chunk.length)) call.send('data', chunk)
      }
    }
    call.send('end')
    return await call.reply
  } catch (error) {
    // The source failed: the file stays as far as it came, as after a broken upload. The machine is done with it when this
    // rejects; what it has to say of being broken off is the caller's own doing.
    call.send('cancel')
    await call.reply.catch(() => undefined)
    throw error
  } finally {
    call.finish()
    reader.releaseLock()
  }
}

function toEntry(entry: AgentFileEntry): FileEntry {
  return {
    name: entry.name,
    path: entry.path,
    type: entry.type,
    size: entry.size,
    mode: entry.mode,
    owner: entry.owner,
    group: entry.group,
    modifiedAt: new Date(entry.modifiedMs),
    ...(entry.symlinkTarget === null ? {} : { symlinkTarget: entry.symlinkTarget }),
    metadata: entry.metadata,
  }
}
