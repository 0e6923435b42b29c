import type { Accounts, Failures } from './accounts.ts'
import type { Attributes } from './attributes.ts'
import type { Bodies } from './bodies.ts'
import type {
  AgentCalls,
  AgentMethod,
  AgentReply,
  AgentRequest,
  AgentSettings,
  ReceiveHandlers,
  ServedCall,
} from './contract.ts'
import type { Files } from './files.ts'
import type { Listeners } from './listeners.ts'
import type { findMarked } from './marked.ts'
import type { Population } from './population.ts'
import type { Processes } from './processes.ts'
import type { Pipes } from './pipes.ts'
import type { Frame, Protocol } from './protocol.ts'
import type { Starter } from './starter.ts'
import type { Terminals } from './terminals.ts'
import type { Unpacker } from './unpack.ts'
import type { Usage } from './usage.ts'
import type { Watching } from './watch.ts'

/** What the text of program.ts hands over: the factories of the other files, which text cannot import. */
export interface AgentParts {
  createProtocol(): Protocol
  createFailures(): Failures
  createBodies(failures: Failures): Bodies
  createAccounts(settings: AgentSettings, failures: Failures): Accounts
  findMarked: typeof findMarked
  createPopulation(settings: AgentSettings, find: typeof findMarked): Population
  createPipes(settings: AgentSettings): Pipes
  createTerminals(accounts: Accounts, failures: Failures): Terminals
  createStarter(settings: AgentSettings, pipes: Pipes, terminals: Terminals, failures: Failures): Starter
  createProcesses(
    protocol: Protocol,
    starter: Starter,
    population: Population,
    accounts: Accounts,
    failures: Failures,
  ): Processes
  createAttributes(failures: Failures): Attributes
  createFiles(
    settings: AgentSettings,
    protocol: Protocol,
    bodies: Bodies,
    attributes: Attributes,
    accounts: Accounts,
    failures: Failures,
  ): Files
  createUnpacker(bodies: Bodies, accounts: Accounts, failures: Failures, files: Files): Unpacker
  createListeners(population: Population): Listeners
  createUsage(settings: AgentSettings, population: Population): Usage
  createWatching(failures: Failures): Watching
}

/** Serves the calls of the host on `channel` (a file descriptor) until the host goes away. */
export function runAgent(parts: AgentParts, settings: AgentSettings, channel: number): void {
  const { Socket } = process.getBuiltinModule('node:net')
  const protocol = parts.createProtocol()
  const failures = parts.createFailures()
  const bodies = parts.createBodies(failures)
  const accounts = parts.createAccounts(settings, failures)
  const terminals = parts.createTerminals(accounts, failures)
  const pipes = parts.createPipes(settings)
  const starter = parts.createStarter(settings, pipes, terminals, failures)
  const population = parts.createPopulation(settings, parts.findMarked)
  const processes = parts.createProcesses(protocol, starter, population, accounts, failures)
  const files = parts.createFiles(settings, protocol, bodies, parts.createAttributes(failures), accounts, failures)
  const unpacker = parts.createUnpacker(bodies, accounts, failures, files)
  const listeners = parts.createListeners(population)
  const usage = parts.createUsage(settings, population)
  const watching = parts.createWatching(failures)
  process.umask(0o022)
  // Its short name too, so that a command that kills every Node by name does not mean this one.
  process.title = 'warmbox-machine'

  const socket = new Socket({ fd: channel })
  const handlers = new Map<number, (frame: Frame) => void>()

  type Serve = {
    [Method in AgentMethod]: (
      parameters: AgentCalls[Method]['parameters'],
      call: ServedCall,
    ) => AgentCalls[Method]['result'] | Promise<AgentCalls[Method]['result']>
  }
  const serve: Serve = {
    spawn: async (parameters, call) => {
      await pipes.prepare()
      return processes.spawn(parameters, call)
    },
    ping: () => null,
    prepare: async () => {
      await pipes.prepare()
      return null
    },
    signal: ({ pid, name }) => {
      processes.signal(pid, name)
      return null
    },
    resize: async ({ pid, size }) => {
      await processes.resize(pid, size)
      return null
    },
    freeze: () => {
      processes.freeze()
      return null
    },
    thaw: () => {
      processes.thaw()
      return null
    },
    stat: ({ path }) => files.stat(path),
    list: ({ path, depth }) => files.list(path, depth),
    makeDirectory: ({ path, owner }) => files.makeDirectory(path, owner),
    move: ({ from, to }) => files.move(from, to),
    remove: ({ path }) => files.remove(path),
    own: ({ path, owner }) => files.own(path, owner),
    homeOf: ({ user }) => accounts.find(user).home,
    read: ({ path }, call) => files.read(path, call),
    write: (parameters, call) => files.write(parameters, call),
    concatenate: ({ sources, path, owner }) => files.concatenate(sources, path, owner),
    unpack: ({ path, owner, mode }, call) => unpacker.unpack(path, owner, mode, call),
    listener: ({ port }) => listeners.find(port) ?? null,
    usage: () => usage.measure(),
    watch: ({ path, recursive }, call) => watching.watch(path, recursive, call),
  }

  /** Keeps the frames that come before the call knows what to do with them. */
  const open = (id: number): ServedCall => {
    let receive: ReceiveHandlers | undefined
    let early: Frame[] = []
    const dispatch = (frame: Frame, to: ReceiveHandlers) => {
      if (frame.kind === 'data') to.data?.(frame.payload)
      else if (frame.kind === 'end') to.end?.()
      else if (frame.kind === 'credit') to.credit?.(frame.payload.readUInt32BE(0))
      else if (frame.kind === 'cancel') {
        to.cancel?.()
        handlers.delete(id)
      }
    }
    handlers.set(id, (frame) => {
      if (receive === undefined) early.push(frame)
      else dispatch(frame, receive)
    })
    return {
      send: (kind, payload) => {
        socket.write(protocol.encode(kind, id, payload))
        if (kind === 'end') handlers.delete(id)
      },
      event: (event) => {
        socket.write(protocol.encodeJson('event', id, event))
        if (event.type === 'exit' || event.type === 'failed') handlers.delete(id)
      },
      credit: (bytes) => {
        const payload = Buffer.allocUnsafe(4)
        payload.writeUInt32BE(bytes, 0)
        socket.write(protocol.encode('credit', id, payload))
      },
      receive: (to) => {
        receive = to
        for (const frame of early) dispatch(frame, to)
        early = []
      },
    }
  }

  const isRequest = (value: unknown): value is AgentRequest =>
    typeof value === 'object' &&
    value !== null &&
    'method' in value &&
    typeof value.method === 'string' &&
    Object.hasOwn(serve, value.method)

  const answer = async (id: number, payload: Buffer) => {
    const request: unknown = JSON.parse(payload.toString())
    if (!isRequest(request)) throw new Error('malformed request')
    const { method, parameters } = request
    const call = open(id)
    let reply: AgentReply
    try {
      reply = { ok: true, result: await serve[method](parameters, call) }
    } catch (error) {
      reply = { ok: false, failure: failures.describe(error) }
    }
    // These go on after their reply; everything else is complete with it.
    if (!reply.ok || !(method === 'spawn' || method === 'read' || method === 'watch')) handlers.delete(id)
    socket.write(protocol.encodeJson('reply', id, reply))
  }

  const decode = protocol.decoder((frame) => {
    if (frame.kind === 'request') void answer(frame.call, frame.payload)
    else handlers.get(frame.call)?.(frame)
  })
  socket.on('data', decode)
  // The host is gone: with this program ends init, and with init every process of the machine.
  socket.on('error', () => process.exit(0))
  socket.on('close', () => process.exit(0))
  socket.on('end', () => process.exit(0))
}
