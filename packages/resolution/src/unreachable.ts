/** Ends a switch that covers everything: a case added to the union no longer compiles. */
export function unreachable(value: never): never {
  throw new TypeError(`Unexpected value ${JSON.stringify(value)}`)
}
