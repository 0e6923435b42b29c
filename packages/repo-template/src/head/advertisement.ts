/** Content type of the smart protocol's answer; whatever has another is no advertisement. */
export const ADVERTISEMENT_TYPE = 'application/x-git-upload-pack-advertisement'

/** A ref as a server advertises it. A peeled tag is its own entry, `refs/tags/v1^{}`. */
export interface AdvertisedRef {
  readonly name: string
  readonly sha: string
}

/** Raised for bytes that are no version-0 advertisement; the message quotes nothing of them. */
export class AdvertisementError extends Error {
  override readonly name = 'AdvertisementError'
}

const lengthDigits = 4
/** Of the pkt-line format. */
const longestPacket = 65_520
const entry = /^([0-9a-f]{40}|[0-9a-f]{64}) (\S+)$/

/**
 * Reads the ref advertisement of git's smart protocol, version 0, as it arrives: `001e# service=git-upload-pack`, a
 * flush, then one packet per ref (the first, HEAD, carries the capabilities after a NUL) and a flush. Yields refs in
 * the server's order, so a reader can stop at the one it wants and never see the rest.
 */
export async function* readAdvertisement(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<AdvertisedRef> {
  let announced = false
  let flushes = 0
  for await (const packet of readPackets(chunks)) {
    if (packet === 'flush') {
      flushes += 1
      if (flushes === 2) return
      continue
    }
    if (packet.startsWith('ERR ')) throw new AdvertisementError('the server answered an error packet')
    if (!announced) {
      if (packet !== '# service=git-upload-pack') throw new AdvertisementError('the service is not announced')
      announced = true
      continue
    }
    // `version 1` precedes the refs of a server that was told to speak version 1; the refs themselves are the same.
    if (packet === 'version 1' || packet.startsWith('shallow ')) continue
    const [, sha, name] = entry.exec(packet.split('\0', 1)[0] ?? '') ?? []
    if (sha === undefined || name === undefined) throw new AdvertisementError('a line is no ref')
    // What an empty repository advertises in place of refs.
    if (name === 'capabilities^{}') continue
    yield { name, sha }
  }
  throw new AdvertisementError('the advertisement ends early')
}

async function* readPackets(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let pending = new Uint8Array(0)
  for await (const chunk of chunks) {
    pending = concatenate(pending, chunk)
    let offset = 0
    for (;;) {
      if (pending.length - offset < lengthDigits) break
      const length = packetLength(decoder.decode(pending.subarray(offset, offset + lengthDigits)))
      if (length === 0) {
        offset += lengthDigits
        yield 'flush'
        continue
      }
      if (pending.length - offset < length) break
      yield decoder.decode(pending.subarray(offset + lengthDigits, offset + length)).replace(/\n$/, '')
      offset += length
    }
    pending = pending.slice(offset)
  }
}

const packetLength = (digits: string): number => {
  const length = /^[0-9a-f]{4}$/i.test(digits) ? Number.parseInt(digits, 16) : -1
  if (length === 0 || (length >= lengthDigits && length <= longestPacket)) return length
  throw new AdvertisementError('a packet has no valid length')
}

const concatenate = (first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> => {
  const joined = new Uint8Array(first.length + second.length)
  joined.set(first)
  joined.set(second, first.length)
  return joined
}

/** The commit of `wanted` among refs in the server's order, or `undefined`. Stops reading as soon as it is known. */
export const findRef = async (refs: AsyncIterable<AdvertisedRef>, wanted: string): Promise<string | undefined> => {
  let found: string | undefined
  for await (const { name, sha } of refs) {
    if (found !== undefined) {
      // The commit behind an annotated tag follows the tag itself.
      return name === `${wanted}^{}` ? sha : found
    }
    if (name === wanted) {
      if (!wanted.startsWith('refs/tags/')) return sha
      found = sha
    } else if (wanted === 'HEAD') {
      // HEAD comes first or not at all: an empty repository, or a default branch nobody has pushed.
      return undefined
    }
  }
  return found
}
