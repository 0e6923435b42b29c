import type { Duplex } from 'node:stream'
import type { Clock } from '../../clock.ts'
import { deferred } from '../deferred.ts'
import { RuntimeError, type ImageId, type Machine, type MachineProcess, type SpawnOptions } from '../port.ts'
import { BUILTIN_COMMANDS } from './builtins.ts'
import { answerOf, commandText, findCommand } from './commands.ts'
import { type FileTree } from './file-tree.ts'
import { ScriptedFiles } from './machine-files.ts'
import { connectToScriptedPort } from './ports.ts'
import { ScriptedProcess } from './process.ts'
import { assertStartable } from './start-checks.ts'
import type { ScriptedCommand, ScriptedPort } from './table.ts'

export interface ScriptedMachineOptions {
  readonly id: string
  readonly tree: FileTree
  readonly now: () => Date
  readonly clock: Clock
  readonly commands: readonly ScriptedCommand[]
  readonly ports: readonly ScriptedPort[]
  /** What a command without a row does. */
  readonly unscripted: 'refuse' | 'succeed'
  store(tree: FileTree): ImageId
  ended(): void
}

/** A machine without a kernel: files in memory, commands from a table. */
export class ScriptedMachine implements Machine {
  readonly id: string
  readonly confined = true
  readonly files: ScriptedFiles
  readonly #options: ScriptedMachineOptions
  readonly #running = new Set<ScriptedProcess>()
  readonly #over = deferred<void>()
  #nextPid = 1000
  #paused = false

  constructor(options: ScriptedMachineOptions) {
    this.id = options.id
    this.#options = options
    this.files = new ScriptedFiles(options.tree, options.now)
  }

  async spawn(options: SpawnOptions): Promise<MachineProcess> {
    const home = await this.files.homeOf(options.user)
    const cwd = options.cwd ?? home
    assertStartable(this.#options.tree, options, cwd)
    const text = commandText(options.command, options.args)
    const row = findCommand(this.#options.commands, text) ?? findCommand(BUILTIN_COMMANDS, text)
    if (row === undefined && this.#options.unscripted === 'refuse') {
      throw new RuntimeError(
        'not-scripted',
        `no row of the scripted runtime matches this command: ${text}. ` +
          'Add one with createScriptedRuntime({ commands: [{ match, answer }] }), or use the real runtime.',
      )
    }
    const child = new ScriptedProcess({ pid: this.#nextPid++, stdin: options.stdin, pty: options.pty !== undefined })
    this.#running.add(child)
    void child.exit.then(() => this.#running.delete(child))
    if (this.#paused) child.freeze()
    const { files } = this
    const { clock } = this.#options
    void child.play(async () => {
      if (row === undefined) return {}
      return answerOf(row, {
        text,
        cwd,
        user: options.user,
        env: { HOME: home, USER: options.user, LOGNAME: options.user, ...options.env },
        files,
        clock,
        stdin: child.stdin,
        signal: child.aborted,
        stdout: (chunk) => child.emit('stdout', chunk),
        stderr: (chunk) => child.emit('stderr', chunk),
      })
    })
    return child
  }

  async pause(): Promise<void> {
    this.#paused = true
    for (const child of this.#running) child.freeze()
  }

  async resume(): Promise<void> {
    this.#paused = false
    for (const child of this.#running) child.thaw()
  }

  async snapshot(): Promise<ImageId> {
    return this.#options.store(this.#options.tree.copy())
  }

  async destroy(): Promise<void> {
    await this.resume()
    const running = [...this.#running]
    await Promise.all(running.map((child) => child.signal('SIGKILL')))
    await Promise.all(running.map((child) => child.exit))
    this.#options.ended()
    this.#over.resolve()
  }

  /** Nothing but a request ends one. */
  get ended(): Promise<void> {
    return this.#over.promise
  }

  /** There is no process to measure. */
  async usage(): Promise<undefined> {
    return undefined
  }

  async connect(port: number): Promise<Duplex> {
    return connectToScriptedPort(this.#options.ports, port)
  }
}
