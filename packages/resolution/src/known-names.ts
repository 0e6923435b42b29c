/** Insertions, deletions and replacements that lead from one word to the other. */
function distance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let row = 0; row < from.length; row += 1) {
    const current = [row + 1]
    for (let column = 0; column < to.length; column += 1) {
      const replaced = (previous[column] ?? 0) + (from[row] === to[column] ? 0 : 1)
      current.push(Math.min(replaced, (previous[column + 1] ?? 0) + 1, (current[column] ?? 0) + 1))
    }
    previous = current
  }
  return previous[to.length] ?? 0
}

/** A longer name is no typing error, and comparing it would cost time for nothing. */
const LONGEST_NAME = 64

function nearest(name: string, known: readonly string[]): string | undefined {
  if (name.length > LONGEST_NAME) return undefined
  const [best] = known
    .map((candidate) => ({ candidate, cost: distance(name.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ candidate, cost }) => cost <= Math.max(2, Math.floor(candidate.length / 3)))
    .toSorted((a, b) => a.cost - b.cost)
  return best?.candidate
}

/** A name in an object that nobody reads. */
export interface UnknownName {
  /** At most 64 characters of it. */
  readonly name: string
  /** The known name it resembles, as one with a typing error does. */
  readonly nearest: string | undefined
  /** What to do about it: the name that was probably meant, or all there are. */
  readonly hint: string
}

/**
 * The first name of an object that is none of the known ones, so that a misspelt option is refused instead of dropped
 * without a word. Symbols, names that are not enumerable, and those whose value is undefined are nobody's typing error.
 */
export function findUnknownName(value: object, known: readonly string[]): UnknownName | undefined {
  return unknownNames(value, known)[0]
}

/** As {@link findUnknownName}, among names that resemble a known one: for objects that others may add to. */
export function findMisspeltName(value: object, known: readonly string[]): UnknownName | undefined {
  return unknownNames(value, known).find((unknown) => unknown.nearest !== undefined)
}

const unknownNames = (value: object, known: readonly string[]): readonly UnknownName[] =>
  Object.entries(value)
    .filter(([name, given]) => given !== undefined && !known.includes(name))
    .map(([name]) => {
      const near = nearest(name, known)
      const hint = near === undefined ? `Known names: ${known.join(', ')}` : `Did you mean '${near}'?`
      return { name: name.slice(0, LONGEST_NAME), nearest: near, hint }
    })
