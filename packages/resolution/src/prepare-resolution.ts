import type { ResolutionEvent } from './events.ts'
import type { FirstLook } from './ladder.ts'
import { type Listing, Listings } from './listings.ts'
import { type PrepareResolutionOptions, type ResolvedOptions, resolveOptions } from './options.ts'
import { prepareLadder, type PreparedLadder } from './prepare.ts'
import { splitRef } from './refs.ts'
import type { TemplateSpec } from './spec.ts'

/** Everything that can be known without changing anything. */
export interface Preparation {
  readonly ladder: PreparedLadder
  /** Tags by name; of the first candidate's name at most. */
  readonly listings: ReadonlyMap<string, Listing>
  /** What the spec had to tell, not told yet. */
  readonly events: readonly ResolutionEvent[]
}

/**
 * A resolution up to the point where something must be booted. Boot from it once, and soon: what it knows gets old, and
 * a second boot goes by the same knowledge, tells the same warnings and creates another sandbox.
 * Throwing it away costs nothing; it holds no timer and no request.
 */
export class PreparedResolution {
  readonly #preparation: Preparation

  /** @internal */
  constructor(preparation: Preparation) {
    this.#preparation = preparation
  }

  /** @internal */
  static read(prepared: PreparedResolution): Preparation {
    return prepared.#preparation
  }
}

/**
 * The first of the two phases of a start: resolves a deferred spec (access, head), gives every template its name, and
 * lists the tags of the wanted one meanwhile. Read-only: nothing is built, tagged, booted or told, so it may run while
 * it is still unknown whether a sandbox must be created, and be thrown away. `bootFromSpec` does the rest.
 *
 * @throws ResolutionError `INVALID_SPEC` and `MISSING_API_KEY` before any request. An aborted signal rejects with its
 * reason.
 */
export async function prepareResolution(
  spec: TemplateSpec | undefined,
  options: PrepareResolutionOptions,
): Promise<PreparedResolution> {
  return new PreparedResolution(await prepare(spec, resolveOptions(options), 'tags'))
}

/** @throws as {@link prepareResolution} does; what the listing was answered is part of the result */
export async function prepare(
  spec: TemplateSpec | undefined,
  options: ResolvedOptions,
  firstLook: FirstLook,
): Promise<Preparation> {
  const { api, resources, signal, strictTemplate } = options
  signal.throwIfAborted()
  const events: ResolutionEvent[] = []
  const listings = new Listings(api, signal)
  try {
    const ladder = await prepareLadder(spec, {
      resources,
      strictTemplate,
      signal,
      firstLook,
      onEvent: (event) => void events.push(event),
      listTags: async (name) => {
        const listing = await listings.of(name)
        if (listing.kind === 'failed') throw listing.error
        return listing.tags
      },
      expectName: (name) => {
        if (firstLook === 'tags') listings.expect(name)
      },
    })
    const [first] = ladder.candidates
    if (first?.kind !== 'buildable' || first.firstLook !== 'tags') return { ladder, listings: new Map(), events }
    const { name } = splitRef(first.ref)
    const listing = await listings.of(name)
    signal.throwIfAborted()
    return { ladder, listings: new Map([[name, listing]]), events }
  } finally {
    listings.close()
  }
}
