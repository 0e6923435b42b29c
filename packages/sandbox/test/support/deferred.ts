const ignore = (): void => undefined

/** A promise and the way to settle it. */
export function deferred<T = void>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = ignore
  const promise = new Promise<T>((settle) => {
    resolve = settle
  })
  return { promise, resolve }
}
