/** To a tenth. */
export const median = (values: readonly number[]): number =>
  Number((values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0).toFixed(1))
