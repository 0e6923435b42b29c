import { splitRef, withTag } from './refs.ts'
import type { TagAssignment, TemplateApi } from './template-api.ts'

/** The tags of one name. Undefined tags: no template of this account has the name, or its tags cannot be listed. */
export type Listing =
  | { readonly kind: 'listed'; readonly tags: readonly TagAssignment[] | undefined }
  | { readonly kind: 'failed'; readonly error: unknown }

/** Lists the tags of names, each at most once, and begins before it is known whether the answer is needed. */
export class Listings {
  readonly #api: TemplateApi
  readonly #signal: AbortSignal
  readonly #closing = new AbortController()
  readonly #byName = new Map<string, Promise<Listing>>()

  constructor(api: TemplateApi, signal: AbortSignal) {
    this.#api = api
    this.#signal = AbortSignal.any([signal, this.#closing.signal])
  }

  /** Begins to list a name. One that is malformed is left to whoever uses it. */
  expect(name: string): void {
    const normal = nameOf(name)
    if (normal !== undefined) void this.of(normal)
  }

  /** Never rejects. */
  of(name: string): Promise<Listing> {
    const present = this.#byName.get(name)
    if (present !== undefined) return present
    const listing = this.#list(name)
    this.#byName.set(name, listing)
    return listing
  }

  /** Stops what is not finished. */
  close(): void {
    this.#closing.abort()
  }

  async #list(name: string): Promise<Listing> {
    try {
      return { kind: 'listed', tags: await this.#api.tags(name, this.#signal) }
    } catch (error) {
      return { kind: 'failed', error }
    }
  }
}

function nameOf(name: string): string | undefined {
  try {
    return splitRef(withTag(name)).name
  } catch {
    // A guess that is no name is no reason to fail: the ref that follows is checked, and refused with its field named.
    return undefined
  }
}
