/** Milliseconds that each of `count` runs took, one after another. `settle` is called between them and not timed. */
export async function sample(
  count: number,
  work: (round: number) => Promise<unknown>,
  settle: (round: number) => Promise<unknown> = async () => undefined,
): Promise<number[]> {
  const durations: number[] = []
  for (let round = 0; round < count; round += 1) {
    const start = performance.now()
    await work(round)
    durations.push(performance.now() - start)
    await settle(round)
  }
  return durations
}

/** Median, rounded to hundredths. */
export function median(values: readonly number[]): number {
  const middle = values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)]
  if (middle === undefined) throw new Error('nothing was measured')
  return Math.round(middle * 100) / 100
}
