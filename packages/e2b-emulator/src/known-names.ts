/** A field of an object that nobody reads, and what its author may have meant. */
export interface UnknownName {
  /** Quoted. */
  readonly name: string
  /** A known name that it resembles, asked after; undefined where it resembles none. */
  readonly guess: string | undefined
}

/** The first field that is none of the known ones. */
export function unknownName(value: object, known: readonly string[]): UnknownName | undefined {
  const name = Object.keys(value).find((field) => !known.includes(field))
  if (name === undefined) return undefined
  const alike = known.find((candidate) => resembles(name.toLowerCase(), candidate.toLowerCase()))
  return {
    name: JSON.stringify(name),
    guess: alike === undefined ? undefined : `Did you mean ${JSON.stringify(alike)}?`,
  }
}

/** As two spellings of one word do: the same letters but for a few at most. */
function resembles(name: string, known: string): boolean {
  const slips = Math.min(2, Math.floor(known.length / 3))
  return Math.abs(name.length - known.length) <= slips && isWithin(slips, name, known)
}

/** Whether so many letters left out, put in or replaced lead from one word to the other. */
function isWithin(slips: number, left: string, right: string): boolean {
  if (left === '' || right === '') return left.length + right.length <= slips
  if (left[0] === right[0]) return isWithin(slips, left.slice(1), right.slice(1))
  if (slips === 0) return false
  return (
    isWithin(slips - 1, left.slice(1), right.slice(1)) ||
    isWithin(slips - 1, left.slice(1), right) ||
    isWithin(slips - 1, left, right.slice(1))
  )
}
