/** Beyond it a line is given out in pieces, so that a program that never ends one does not fill the memory. */
const LONGEST_LINE = 64 * 1024

/** Puts the lines of one stream together, however they and their characters are cut into pieces. */
export class OutputLines {
  readonly #decoder = new TextDecoder()
  readonly #onLine: (line: string) => void
  #started = ''

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine
  }

  add(piece: Uint8Array): void {
    this.#take(this.#decoder.decode(piece, { stream: true }))
  }

  /** Gives out the line that no newline ended. More may follow; it begins a line. */
  flush(): void {
    this.#take(this.#decoder.decode())
    const last = this.#started
    this.#started = ''
    if (last !== '') this.#onLine(last)
  }

  #take(text: string): void {
    const lines = (this.#started + text).split('\n')
    this.#started = lines.pop() ?? ''
    for (const line of lines) this.#onLine(line)
    if (this.#started.length < LONGEST_LINE) return
    this.#onLine(this.#started)
    this.#started = ''
  }
}
