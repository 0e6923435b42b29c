type Frame = Record<string, unknown>

const encode = (flag: number, message: Frame): Uint8Array => {
  const json = new TextEncoder().encode(JSON.stringify(message))
  const frame = new Uint8Array(5 + json.length)
  frame[0] = flag
  new DataView(frame.buffer).setUint32(1, json.length)
  frame.set(json, 5)
  return frame
}

/** The JSON message of a request in Connect's streaming form, which wraps it in one envelope. */
export const decodeEnvelope = (body: ArrayBuffer): unknown => JSON.parse(new TextDecoder().decode(body.slice(5)))

/** A stream that ends with an error before its first event. */
export const failedStream = (code: string, message: string): Response =>
  new Response(encode(2, { error: { code, message } }).slice().buffer, {
    headers: { 'content-type': 'application/connect+json' },
  })

const base64 = (data: string | Uint8Array): string => Buffer.from(data).toString('base64')

/** A process of the fake daemon, moved by the test: it prints and ends when told to. */
export class FakeProcess {
  readonly pid: number
  readonly command: string
  readonly cwd: string | undefined
  readonly envs: Readonly<Record<string, string>>
  readonly hasStdin: boolean
  /** Value of `Connect-Timeout-Ms`; undefined is no limit. */
  readonly limitMs: number | undefined
  readonly input: string[] = []
  inputClosed = false
  killed = false
  ended = false
  readonly #listeners = new Set<ReadableStreamDefaultController<Uint8Array>>()

  constructor(options: {
    pid: number
    command: string
    cwd: string | undefined
    envs: Record<string, string>
    hasStdin: boolean
    limitMs: number | undefined
  }) {
    this.pid = options.pid
    this.command = options.command
    this.cwd = options.cwd
    this.envs = options.envs
    this.hasStdin = options.hasStdin
    this.limitMs = options.limitMs
  }

  /** A stream of events from now on, as Start and Connect answer. */
  events(): Response {
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.#listeners.add(controller)
        controller.enqueue(encode(0, { event: { start: { pid: this.pid } } }))
      },
    })
    return new Response(stream, {
      headers: { 'content-type': 'application/connect+json', 'transfer-encoding': 'chunked' },
    })
  }

  stdout(data: string | Uint8Array): this {
    return this.#send({ event: { data: { stdout: base64(data) } } })
  }

  stderr(data: string | Uint8Array): this {
    return this.#send({ event: { data: { stderr: base64(data) } } })
  }

  exit(exitCode: number): void {
    this.#end({
      event: { end: { exited: true, status: `exit status ${exitCode}`, ...(exitCode ? { exitCode } : {}) } },
    })
  }

  /** What the daemon reports for a process that a signal ended. */
  signalled(): void {
    this.#end({ event: { end: { exitCode: -1, status: 'signal: killed', error: 'signal: killed' } } })
  }

  /** The stream ends without an end event. */
  breakStream(code: string): void {
    for (const listener of this.#listeners) {
      listener.enqueue(encode(2, { error: { code, message: 'stream broke' } }))
      listener.close()
    }
    this.#listeners.clear()
  }

  #send(frame: Frame): this {
    for (const listener of this.#listeners) listener.enqueue(encode(0, frame))
    return this
  }

  #end(frame: Frame): void {
    if (this.ended) return
    this.ended = true
    this.#send(frame)
    for (const listener of this.#listeners) {
      listener.enqueue(encode(2, {}))
      listener.close()
    }
    this.#listeners.clear()
  }
}
