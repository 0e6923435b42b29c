/**
 * The wire format between the host and the init program of a machine, as both ends run it.
 *
 * Everything below `src/runtime/real/agent` is turned into text and evaluated inside the machine (see program.ts),
 * so each exported function must be self-contained: no imports that survive compilation, no module-level values.
 */

export type FrameKind = 'request' | 'reply' | 'data' | 'standard-error' | 'end' | 'credit' | 'event' | 'cancel'

export interface Frame {
  readonly kind: FrameKind
  /** The call this frame belongs to; calls are numbered by the host. */
  readonly call: number
  readonly payload: Buffer
}

/** Limits how many bytes of one stream are under way, so that a slow reader holds back its own writer only. */
export interface SendWindow {
  /** Waits for room, then counts `bytes` as under way. False once the window is closed. */
  reserve(bytes: number): Promise<boolean>
  release(bytes: number): void
  /** Resolves when nothing is under way any more; false when the window was closed first. */
  drained(): Promise<boolean>
  close(): void
}

export interface Protocol {
  readonly chunkBytes: number
  encode(kind: FrameKind, call: number, payload?: Uint8Array): Buffer
  encodeJson(kind: FrameKind, call: number, value: unknown): Buffer
  /** Returns a function that takes bytes as they arrive and calls `onFrame` for each complete frame; throws on a malformed one. */
  decoder(onFrame: (frame: Frame) => void): (chunk: Buffer) => void
  createWindow(): SendWindow
}

export function createProtocol(): Protocol {
  const kinds: readonly FrameKind[] = ['request', 'reply', 'data', 'standard-error', 'end', 'credit', 'event', 'cancel']
  // length of what follows, kind, call
  const headerBytes = 9
  const largestFrame = 64 * 1024 * 1024
  const windowBytes = 512 * 1024

  const encode = (kind: FrameKind, call: number, payload: Uint8Array = new Uint8Array(0)): Buffer => {
    const frame = Buffer.allocUnsafe(headerBytes + payload.length)
    frame.writeUInt32BE(payload.length, 0)
    frame.writeUInt8(kinds.indexOf(kind), 4)
    frame.writeUInt32BE(call, 5)
    frame.set(payload, headerBytes)
    return frame
  }

  const decoder = (onFrame: (frame: Frame) => void) => {
    let pending: Buffer[] = []
    let pendingBytes = 0
    let wanted = headerBytes
    return (chunk: Buffer): void => {
      pending.push(chunk)
      pendingBytes += chunk.length
      if (pendingBytes < wanted) return
      let bytes = pending.length === 1 ? chunk : Buffer.concat(pending)
      while (bytes.length >= headerBytes) {
        const length = bytes.readUInt32BE(0)
        const kind = kinds[bytes.readUInt8(4)]
        if (kind === undefined || length > largestFrame) throw new Error('malformed frame')
        wanted = headerBytes + length
        if (bytes.length < wanted) break
        const frame: Frame = { kind, call: bytes.readUInt32BE(5), payload: bytes.subarray(headerBytes, wanted) }
        bytes = bytes.subarray(wanted)
        wanted = headerBytes
        onFrame(frame)
      }
      pending = bytes.length === 0 ? [] : [bytes]
      pendingBytes = bytes.length
    }
  }

  const createWindow = (): SendWindow => {
    let underWay = 0
    let open = true
    let wake: (() => void)[] = []
    const changed = () => new Promise<void>((resolve) => wake.push(resolve))
    const notify = () => {
      const waiting = wake
      wake = []
      for (const resolve of waiting) resolve()
    }
    // A chunk larger than the whole window goes through alone rather than never.
    const fits = (bytes: number) => !open || underWay === 0 || underWay + bytes <= windowBytes
    const idle = () => !open || underWay === 0
    return {
      async reserve(bytes) {
        while (!fits(bytes)) await changed()
        underWay += bytes
        return open
      },
      release(bytes) {
        underWay -= bytes
        notify()
      },
      async drained() {
        while (!idle()) await changed()
        // What was taken was taken, though the reader may have ended with the last of it.
        return underWay === 0
      },
      close() {
        open = false
        notify()
      },
    }
  }

  return {
    chunkBytes: 64 * 1024,
    encode,
    encodeJson: (kind, call, value) => encode(kind, call, Buffer.from(JSON.stringify(value ?? null))),
    decoder,
    createWindow,
  }
}
