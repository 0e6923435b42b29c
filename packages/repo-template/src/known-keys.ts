import { RepoTemplateError } from './errors.ts'

/** Insertions, deletions and replacements that lead from one word to the other. */
const distance = (from: string, to: string): number => {
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

const closest = (key: string, known: readonly string[]): string | undefined => {
  const [best] = known
    .map((candidate) => ({ candidate, cost: distance(key.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ candidate, cost }) => cost <= Math.max(2, Math.floor(candidate.length / 3)))
    .toSorted((a, b) => a.cost - b.cost)
  return best?.candidate
}

/**
 * Refuses keys nobody reads. A misspelt `setupComand` would otherwise build an image without its setup and give it
 * the name of the image that never had one.
 */
export const assertKnownKeys = (value: object, known: readonly string[], what: string): void => {
  for (const key of Object.keys(value)) {
    if (known.includes(key)) continue
    // A long key is no typing error, and comparing it would cost time for nothing.
    const suggestion = key.length <= 64 ? closest(key, known) : undefined
    throw new RepoTemplateError({
      code: 'OPTION_UNKNOWN',
      field: key.slice(0, 64),
      message: `${what} has no option '${key.slice(0, 64)}'`,
      hint: suggestion === undefined ? `Known options: ${known.join(', ')}` : `Did you mean '${suggestion}'?`,
    })
  }
}
