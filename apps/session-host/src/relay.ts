import { inspect } from 'node:util'

import type { ResolutionEvent } from '@warmbox/resolution'

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

  readonly onEvent = (event: ResolutionEvent): void => {
    this.#keep(event)
    switch (event.type) {
      case 'build-start':
        this.#printer.detail(`${event.background ? 'background build' : 'build'} of ${event.ref} started`)
        return
      case 'build-log':
        this.#printer.log(event.line)
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
