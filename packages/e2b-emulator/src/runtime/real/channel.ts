import type { Duplex } from 'node:stream'
import { deferred } from '../deferred.ts'
import { RuntimeError } from '../port.ts'
import type { AgentCalls, AgentEvent, AgentMethod, AgentReply } from './agent/contract.ts'
import { createProtocol, type Frame, type FrameKind, type SendWindow } from './agent/protocol.ts'
import { failureOf, isEvent, isReply, resultChecks } from './results.ts'

export interface CallHandlers {
  data?(payload: Buffer, kind: 'data' | 'standard-error'): void
  event?(event: AgentEvent): void
  end?(): void
  credit?(bytes: number): void
  /** The machine is gone; nothing more comes. Not called after {@link Call.finish}. */
  closed?(): void
}

export interface Call<Result> {
  readonly reply: Promise<Result>
  send(kind: 'data' | 'end' | 'cancel', payload?: Uint8Array): void
  credit(bytes: number): void
  /** Nothing more is expected for this call. */
  finish(): void
}

interface OpenCall {
  readonly handlers: CallHandlers
  readonly settle: (reply: AgentReply) => void
}

/** The host's end of the pipe into a machine. */
export class MachineChannel {
  readonly #protocol = createProtocol()
  readonly #socket: Duplex & { ref?(): void; unref?(): void }
  readonly #calls = new Map<number, OpenCall>()
  readonly #ended = deferred<void>()
  #nextCall = 1
  #closed = false

  constructor(socket: Duplex) {
    this.#socket = socket
    const decode = this.#protocol.decoder((frame) => this.#receive(frame))
    socket.on('data', (chunk: Buffer) => {
      try {
        decode(chunk)
      } catch {
        // Only a command that tampered with the program inside can send this; its machine is of no more use.
        this.close()
      }
    })
    socket.on('error', () => this.close())
    socket.on('close', () => this.close())
    this.#socket.unref?.()
  }

  /** True once the program inside is gone. */
  get closed(): boolean {
    return this.#closed
  }

  /** Resolves when the program inside is gone. */
  get ended(): Promise<void> {
    return this.#ended.promise
  }

  get chunkBytes(): number {
    return this.#protocol.chunkBytes
  }

  createWindow(): SendWindow {
    return this.#protocol.createWindow()
  }

  /** Asks once and waits for the answer. */
  async request<Method extends AgentMethod>(
    method: Method,
    parameters: AgentCalls[Method]['parameters'],
  ): Promise<AgentCalls[Method]['result']> {
    const call = this.open(method, parameters, {})
    try {
      return await call.reply
    } finally {
      call.finish()
    }
  }

  /** Starts a call that streams; the caller ends it with `finish`. */
  open<Method extends AgentMethod>(
    method: Method,
    parameters: AgentCalls[Method]['parameters'],
    handlers: CallHandlers,
  ): Call<AgentCalls[Method]['result']> {
    const id = this.#nextCall++
    const isResult = resultChecks[method]
    const reply = new Promise<AgentCalls[Method]['result']>((resolve, reject) => {
      const settle = (answer: AgentReply) => {
        if (!answer.ok) reject(failureOf(answer.failure))
        else if (isResult(answer.result)) resolve(answer.result)
        else reject(new RuntimeError('failed', `the machine answered ${method} with something else`))
      }
      if (this.#closed) settle(machineGone)
      else this.#calls.set(id, { handlers, settle })
    })
    // A stream call may fail through its handlers before anyone looks at the reply.
    reply.catch(() => undefined)
    if (!this.#closed) {
      this.#socket.ref?.()
      this.#send('request', id, Buffer.from(JSON.stringify({ method, parameters })))
    }
    return {
      reply,
      send: (kind, payload) => this.#send(kind, id, payload),
      credit: (bytes) => {
        const payload = Buffer.allocUnsafe(4)
        payload.writeUInt32BE(bytes, 0)
        this.#send('credit', id, payload)
      },
      finish: () => {
        this.#calls.delete(id)
        // An idle machine does not keep the host's process alive.
        if (this.#calls.size === 0 && !this.#closed) this.#socket.unref?.()
      },
    }
  }

  /** Ends the channel; the program inside takes that as the end of its machine. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#ended.resolve()
    this.#socket.destroy()
    const open = [...this.#calls.values()]
    this.#calls.clear()
    for (const call of open) {
      call.settle(machineGone)
      call.handlers.closed?.()
    }
  }

  #send(kind: FrameKind, id: number, payload?: Uint8Array): void {
    if (!this.#closed) this.#socket.write(this.#protocol.encode(kind, id, payload))
  }

  #receive(frame: Frame): void {
    const call = this.#calls.get(frame.call)
    if (call === undefined) return
    switch (frame.kind) {
      case 'reply':
        call.settle(parse(frame.payload, isReply))
        break
      case 'data':
      case 'standard-error':
        call.handlers.data?.(frame.payload, frame.kind)
        break
      case 'event':
        call.handlers.event?.(parse(frame.payload, isEvent))
        break
      case 'end':
        call.handlers.end?.()
        break
      case 'credit':
        call.handlers.credit?.(frame.payload.readUInt32BE(0))
        break
      case 'request':
      case 'cancel':
        throw new Error(`a machine sent a ${frame.kind} frame`)
    }
  }
}

function parse<Value>(payload: Buffer, check: (value: unknown) => value is Value): Value {
  const value: unknown = JSON.parse(payload.toString())
  if (!check(value)) throw new Error('a machine sent a malformed frame')
  return value
}

const machineGone: AgentReply = { ok: false, failure: { code: 'gone', message: 'the machine has ended' } }
