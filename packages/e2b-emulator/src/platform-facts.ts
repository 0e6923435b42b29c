/** A row of PLATFORM.md. */
export interface PlatformFact {
  /** The letter of its part and a number, as in `R3`. */
  readonly id: string
  readonly text: string
  /** What the emulator does instead; undefined where it does the same. */
  readonly gap: string | undefined
}

const ROW = /^- \*\*([A-Z]\d+)\*\* (.+)$/
const GAP = / gap: (.+)$/

const START = '<!-- gaps:start -->'
const END = '<!-- gaps:end -->'

/** The rows of PLATFORM.md in their order. Throws where a list entry is none, so that no fact is overlooked. */
export function parseFacts(markdown: string): readonly PlatformFact[] {
  return markdown
    .split('\n')
    .filter((line) => line.startsWith('- '))
    .map((line) => {
      const [, id, words] = ROW.exec(line) ?? []
      if (id === undefined || words === undefined) throw new TypeError(`not a numbered fact: ${line}`)
      return { id, text: words.replace(GAP, ''), gap: GAP.exec(words)?.[1] }
    })
}

/** The text with the list of gaps between its markers made of the facts that have one. */
export function withGaps(text: string, facts: readonly PlatformFact[]): string {
  const start = text.indexOf(START)
  const end = text.indexOf(END)
  if (start === -1 || end < start) throw new TypeError(`the text must contain ${START} and, after it, ${END}`)
  const rows = facts.flatMap(({ id, text: fact, gap }) => (gap === undefined ? [] : [`- ${id}: ${fact} Here: ${gap}`]))
  return `${text.slice(0, start + START.length)}\n\n${rows.join('\n')}\n\n${text.slice(end)}`
}
