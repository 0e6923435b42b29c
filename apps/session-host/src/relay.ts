import { inspect } from 'node:util'

import type { SyncEvent } from '@warmbox/repo-template'
import type { E2BSandboxEvent } from '@warmbox/sandbox'

import type { Printer } from './printer.ts'

/**
 * Everything Warmbox hands a host on the way: events, build log lines, errors. A host prints and stores these, so the
 * walk keeps each in every form a logger would give it, and searches them for the credential at the end.
 */
export class Relay {
  readonly #printer: Printer
  readonly #kept: string[] = []

  constructor(printer: Printer) {
    this.#printer = printer
  }

  readonly onEvent = (event: E2BSandboxEvent | SyncEvent): void => {
    this.#keep(event)
    switch (event.type) {
      case 'build-start':
        this.#printer.detail(`${event.background ? 'background build' : 'build'} of ${event.ref} started`)
        return
      case 'build-joined':
        this.#printer.detail(`waiting for somebody else's build of ${event.ref}`)
        return
      case 'build-taken-over':
        this.#printer.detail(`a build of ${event.ref} that was left is taken over`)
        return
      case 'build-log':
        this.#printer.log(firstLine(event.line))
        return
      case 'build-end':
        this.#printer.detail(
          `${event.background ? 'background build' : 'build'} ${event.outcome} after ${seconds(event.durationMs)}${event.reason === undefined ? '' : `: ${event.reason}`}`,
        )
        return
      case 'advance':
        this.#printer.detail(`tag ${event.tags.join(', ')}: ${event.outcome}`)
        return
      case 'warning':
        this.#printer.detail(`warning: ${event.message}`)
        return
      case 'rung':
        this.#printer.detail(
          `rung ${event.rung}: ${event.outcome}${event.reason === undefined ? '' : ` (${event.reason})`}`,
        )
        return
      case 'sandbox-created':
        this.#printer.detail(`sandbox ${event.sandboxId} created from ${event.ref} in ${seconds(event.durationMs)}`)
        return
      case 'sync':
        this.#printer.detail(`sync, ${event.step}: ${seconds(event.durationMs)}`)
        return
      case 'sandbox-lost':
        this.#printer.detail(`sandbox ${event.sandboxId} was ${event.reason}`)
        return
      case 'sandbox-duplicate':
        this.#printer.detail(`sandbox ${event.sandboxId} has the same id as ${event.keptSandboxId}`)
        return
      case 'sandbox-unusable':
        this.#printer.detail(`sandbox ${event.sandboxId} could not be resumed`)
        return
      // The walk itself says when a session connects, or ends; rungs and sandboxes are told in their own words.
      case 'checkpoint-missing':
      case 'checkpoint-written':
      case 'create':
      case 'resolution-end':
      case 'sandbox-connected':
      case 'sandbox-stopped':
      case 'sandbox-destroyed':
        return
    }
  }

  /** An error a host would log. */
  error(error: unknown): void {
    this.#keep(error)
  }

  /** Output of a command, as a host shows it. */
  output(text: string): void {
    this.#kept.push(text)
  }

  countOccurrences(needles: readonly string[]): number {
    return this.#kept.reduce((count, text) => count + needles.filter((needle) => text.includes(needle)).length, 0)
  }

  #keep(value: unknown): void {
    this.#kept.push(inspect(value, { depth: 20, showHidden: true }), JSON.stringify(value) ?? '')
  }
}

export const seconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(2)} s`

const LONGEST_LINE = 150

/** A step's script is one log entry of many lines; its first says which step it is. */
const firstLine = (text: string): string => {
  const [first = '', ...rest] = text.trimEnd().split('\n')
  const cut = first.length > LONGEST_LINE ? first.slice(0, LONGEST_LINE) : first
  return rest.length > 0 || cut !== first ? `${cut} …` : cut
}
