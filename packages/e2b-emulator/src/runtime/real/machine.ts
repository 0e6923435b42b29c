import { connect, type Socket } from 'node:net'
import {
  RuntimeError,
  type ImageId,
  type Machine,
  type MachineFiles,
  type MachineUsage,
  type SpawnOptions,
} from '../port.ts'
import type { LoopbackAddress } from './agent/contract.ts'
import type { MachineChannel } from './channel.ts'
import { createMachineFiles } from './machine-files.ts'
import { spawnInMachine } from './machine-process.ts'

/** What a machine is made of. */
export interface MachineBody {
  readonly channel: MachineChannel
  /** An image of its files as they are; nothing runs meanwhile. */
  copyFiles(): Promise<ImageId>
  /** Ends every process and lets go of the files. */
  discard(): Promise<void>
}

/** A machine of real processes: the program beside them does what it is asked. */
export class RealMachine implements Machine {
  readonly id: string
  readonly confined = true
  readonly files: MachineFiles
  readonly #body: MachineBody
  readonly #channel: MachineChannel
  #paused = false
  #freezers = 0
  #frozen: Promise<unknown> = Promise.resolve()
  #ending: Promise<void> | undefined

  constructor(id: string, body: MachineBody) {
    this.id = id
    this.#body = body
    this.#channel = body.channel
    this.files = createMachineFiles(body.channel)
  }

  spawn(options: SpawnOptions) {
    return spawnInMachine(this.#channel, options)
  }

  async pause(): Promise<void> {
    if (this.#paused) {
      await this.#frozen
      return
    }
    this.#paused = true
    await this.#freeze()
  }

  async resume(): Promise<void> {
    if (!this.#paused) return
    this.#paused = false
    await this.#thaw()
  }

  async snapshot(): Promise<ImageId> {
    await this.#freeze()
    try {
      return await this.#body.copyFiles()
    } finally {
      await this.#thaw()
    }
  }

  get ended(): Promise<void> {
    return this.#channel.ended
  }

  destroy(): Promise<void> {
    this.#ending ??= this.#body.discard()
    return this.#ending
  }

  async connect(port: number): Promise<Socket> {
    const listener = await this.#listenerOn(port)
    const socket = await connectTo(listener, port)
    try {
      // It may have left in between, and something else of the host taken its place.
      await this.#listenerOn(port)
      return socket
    } catch (error) {
      socket.destroy()
      throw error
    }
  }

  async usage(): Promise<MachineUsage> {
    if (this.#ending !== undefined) throw new RuntimeError('gone', 'the machine has ended')
    return this.#channel.request('usage', null)
  }

  /** The machines share the host's network, so only what a process inside listens on may be reached. */
  async #listenerOn(port: number): Promise<LoopbackAddress> {
    if (this.#ending !== undefined) throw new RuntimeError('gone', 'the machine has ended')
    const address = await this.#channel.request('listener', { port })
    if (address === null) throw new RuntimeError('port-closed', `nothing in the machine listens on port ${port}`)
    return address
  }

  /** A pause and a snapshot may overlap; the machine goes on when the last of them is over. */
  async #freeze(): Promise<void> {
    this.#freezers++
    if (this.#freezers === 1) this.#frozen = this.#channel.request('freeze', null)
    await this.#frozen
  }

  async #thaw(): Promise<void> {
    this.#freezers--
    // A machine that ended meanwhile has nothing left to continue.
    if (this.#freezers === 0 && this.#ending === undefined) await this.#channel.request('thaw', null)
  }
}

function connectTo(host: LoopbackAddress, port: number): Promise<Socket> {
  const socket = connect({ host, port })
  return new Promise((resolve, reject) => {
    const failed = (cause: Error) =>
      reject(new RuntimeError('port-closed', `port ${port} takes no connection`, { cause }))
    socket.once('error', failed)
    socket.once('connect', () => {
      socket.off('error', failed)
      resolve(socket)
    })
  })
}
