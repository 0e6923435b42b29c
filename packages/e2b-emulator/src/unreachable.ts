/** Ends a switch over a closed set: a member without a case does not compile. */
export function unreachable(member: never): never {
  throw new TypeError(`no case for ${JSON.stringify(member)}`)
}
