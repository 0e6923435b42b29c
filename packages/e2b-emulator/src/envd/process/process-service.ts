import { Code, ConnectError, type HandlerContext, type ServiceImpl } from '@connectrpc/connect'
import type { MessageInitShape } from '@bufbuild/protobuf'
import {
  type Process,
  type ProcessEventSchema,
  type ProcessInput,
  type ProcessSelector,
  Signal,
  type StartRequest,
} from '../generated/process/process_pb.ts'
import type { Mailbox } from '../mailbox.ts'
import { followingOf, pathOf, sessionOf, userOf } from '../rpc/context.ts'
import { attempts } from '../refusals.ts'
import { translated, type Exceptions } from '../rpc/errors.ts'
import { sandboxEnvironment } from '../sandbox.ts'
import type { ProcessNews } from './running-process.ts'
import { eventOf } from './process-event.ts'
import type { TableEntry } from './process-table.ts'

type Event = MessageInitShape<typeof ProcessEventSchema>

/** `process.Process`. What is not said here about codes is said in {@link translated}. */
export const processService: ServiceImpl<typeof Process> = {
  list(_request, context) {
    const processes = sessionOf(context)
      .processes.list()
      .map(({ config, running, tag }) => ({ config, pid: running.pid, ...(tag === undefined ? {} : { tag }) }))
    return { processes }
  },

  async *start(request, context) {
    const { entry, news } = await startProcess(request, context)
    for await (const event of eventsOf(entry, news, context)) yield { event }
  },

  async *connect(request, context) {
    const entry = find(request.process, context)
    for await (const event of eventsOf(entry, entry.running.attach(), context)) yield { event }
  },

  async update(request, context) {
    const entry = find(request.process, context)
    const size = request.pty?.size
    if (size === undefined) return {}
    if (!entry.terminal) throw new ConnectError('the process has no terminal', Code.Unimplemented)
    await translated(entry.running.machineProcess.resize({ cols: size.cols, rows: size.rows }))
    return {}
  },

  async sendInput(request, context) {
    await writeInput(find(request.process, context), request.input)
    return {}
  },

  async streamInput(requests, context) {
    let entry: TableEntry | undefined
    for await (const { event } of requests) {
      switch (event.case) {
        case 'start':
          entry = find(event.value.process, context)
          break
        case 'data':
          if (entry === undefined) throw new ConnectError('input came before start', Code.InvalidArgument)
          await writeInput(entry, event.value.input)
          break
        case 'keepalive':
          break
        case undefined:
          throw new ConnectError('an event without a kind', Code.Unimplemented)
      }
    }
    return {}
  },

  async sendSignal(request, context) {
    const { machineProcess } = find(request.process, context).running
    await translated(machineProcess.signal(signalName(request.signal)), undefined, { codes: { gone: Code.NotFound } })
    return {}
  },

  async closeStdin(request, context) {
    if (!sessionOf(context).can('closeStdin')) throw new ConnectError('unknown method', Code.Unimplemented)
    const entry = find(request.process, context)
    if (entry.terminal) {
      throw new ConnectError('a terminal has no input to close; send the byte 0x04', Code.FailedPrecondition)
    }
    if (!entry.stdin) return {}
    entry.stdin = false
    await translated(entry.running.machineProcess.closeStdin(), undefined, inputExceptions)
    return {}
  },
}

/** A start that fails is the caller's mistake, unless the machine has run out of something. */
const startExceptions: Exceptions = {
  codes: { 'not-found': Code.InvalidArgument },
  kinds: { refused: Code.InvalidArgument, full: Code.ResourceExhausted, exhausted: Code.ResourceExhausted },
}

async function startProcess(request: StartRequest, context: HandlerContext) {
  const config = request.process
  if (config === undefined || config.cmd === '') throw new ConnectError('no command given', Code.InvalidArgument)
  const user = await userOf(context)
  const session = sessionOf(context)
  const size =
    request.pty === undefined ? undefined : { cols: request.pty.size?.cols ?? 80, rows: request.pty.size?.rows ?? 24 }
  return translated(
    session.processes.start({
      config,
      tag: request.tag,
      timeoutMs: Number(context.requestHeader.get('Connect-Timeout-Ms') ?? 0),
      spawn: {
        command: config.cmd,
        args: config.args,
        cwd: pathOf(config.cwd ?? '', user, context),
        user: user.name,
        env: { ...sandboxEnvironment(session.sandbox), ...config.envs },
        stdin: size === undefined && ((request.stdin ?? true) || !session.can('noStdin')),
        ...(size === undefined ? {} : { pty: size }),
      },
    }),
    attempts.start(config.cmd, config.args),
    startExceptions,
  )
}

/** Start, output, end. Leaving early detaches from the process and lets it run. */
async function* eventsOf(
  entry: TableEntry,
  news: Mailbox<ProcessNews>,
  context: HandlerContext,
): AsyncGenerator<Event> {
  // Whoever left may never ask for another event, and the process must not wait for that.
  const detach = () => entry.running.detach(news)
  context.signal.addEventListener('abort', detach, { once: true })
  try {
    yield { event: { case: 'start', value: { pid: entry.running.pid } } }
    for await (const next of news.follow(followingOf(context))) {
      yield next === undefined ? { event: { case: 'keepalive', value: {} } } : eventOf(next)
    }
  } finally {
    context.signal.removeEventListener('abort', detach)
    detach()
  }
}

function find(selector: ProcessSelector | undefined, context: HandlerContext): TableEntry {
  const chosen = selector?.selector ?? { case: undefined }
  const entry = sessionOf(context).processes.find(chosen)
  if (entry !== undefined) return entry
  if (chosen.case === undefined) throw new ConnectError('no process selected', Code.Unimplemented)
  throw new ConnectError(`process with ${chosen.case} ${chosen.value} not found`, Code.NotFound)
}

const inputExceptions: Exceptions = { codes: { gone: Code.FailedPrecondition } }

async function writeInput(entry: TableEntry, input: ProcessInput | undefined): Promise<void> {
  const kind = input?.input ?? { case: undefined }
  switch (kind.case) {
    case 'stdin':
      if (entry.terminal) {
        throw new ConnectError('the process has a terminal; send input to that', Code.FailedPrecondition)
      }
      if (!entry.stdin) throw new ConnectError('stdin not enabled or closed', Code.FailedPrecondition)
      break
    case 'pty':
      if (!entry.terminal) throw new ConnectError('the process has no terminal', Code.FailedPrecondition)
      break
    case undefined:
      throw new ConnectError('input without a kind', Code.Unimplemented)
  }
  await translated(entry.running.machineProcess.write(kind.value), undefined, inputExceptions)
}

function signalName(signal: Signal): 'SIGKILL' | 'SIGTERM' {
  if (signal === Signal.SIGKILL) return 'SIGKILL'
  if (signal === Signal.SIGTERM) return 'SIGTERM'
  throw new ConnectError(`invalid signal: ${signal}`, Code.Unimplemented)
}
