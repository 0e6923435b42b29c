import { stripVTControlCharacters } from 'node:util'

/** Says what happens, to a person. */
export interface Printer {
  /** Something to know about the whole run. */
  notice(text: string): void
  heading(text: string): void
  detail(text: string): void
  /** A line some program wrote. */
  log(line: string): void
  result(text: string): void
}

/**
 * Lines on `stream`; control characters of relayed programs never reach the terminal. Says nothing more once `signal`
 * is aborted: what ends then is no news.
 */
export const createPrinter = (stream: { write(text: string): unknown }, signal: AbortSignal): Printer => {
  const line = (prefix: string, text: string): void => {
    if (signal.aborted) return
    for (const part of stripVTControlCharacters(text).trimEnd().split('\n')) stream.write(`${prefix}${part}\n`)
  }
  return {
    notice: (text) => line('', text),
    heading: (text) => line('', `\n${text}`),
    detail: (text) => line('  · ', text),
    log: (text) => line('  │ ', text),
    result: (text) => line('  → ', text),
  }
}
