export interface Deferred<Value> {
  readonly promise: Promise<Value>
  resolve(value: Value): void
}

/** A promise that is resolved from outside. */
export function deferred<Value>(): Deferred<Value> {
  let resolve: (value: Value) => void = () => undefined
  const promise = new Promise<Value>((settle) => (resolve = settle))
  return { promise, resolve: (value) => resolve(value) }
}
