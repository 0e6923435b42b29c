/** A promise that the test settles. */
export function deferred<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  const waiting: ((value: T) => void)[] = []
  const promise = new Promise<T>((resolve) => void waiting.push(resolve))
  return { promise, resolve: (value) => waiting.forEach((settle) => settle(value)) }
}
