/** What the protocol trace of a git command says about the last answer it got. */
export interface TracedAnswer {
  readonly status: number
  /** Of a redirect. */
  readonly location: string | undefined
  /** In lower case, without parameters. */
  readonly contentType: string | undefined
  /** `proxy`: to the CONNECT that would have opened the way; the host itself has said nothing. */
  readonly from: 'host' | 'proxy'
}

export interface TraceReader {
  /** A piece of the trace, cut anywhere. */
  read(text: string): void
  /** `undefined` where nobody has answered. */
  readonly lastAnswer: TracedAnswer | undefined
}

const line = /=> Send header: ([A-Z]+) |<= Recv header: (?:HTTP\/[\d.]+ (\d{3})\b|(location|content-type): (\S+))/gi
/** A line that goes on for longer is none of those looked for. */
const longestRest = 64 * 1024

const typeOf = (header: string | undefined): string | undefined => header?.split(';', 1)[0]?.toLowerCase()

/** Reads the trace of `GIT_TRACE_CURL`, which has one header per line. */
export const createTraceReader = (): TraceReader => {
  let rest = ''
  let connecting = false
  let last: TracedAnswer | undefined
  return {
    read(text) {
      rest += text
      const end = rest.lastIndexOf('\n') + 1
      for (const [, method, status, name, value] of rest.slice(0, end).matchAll(line)) {
        if (method !== undefined) {
          connecting = method === 'CONNECT'
          last = undefined
        } else if (status !== undefined) {
          last = {
            status: Number(status),
            location: undefined,
            contentType: undefined,
            from: connecting ? 'proxy' : 'host',
          }
        } else if (last !== undefined && name !== undefined) {
          const isLocation = name.toLowerCase() === 'location'
          last = isLocation ? { ...last, location: value } : { ...last, contentType: typeOf(value) }
        }
      }
      rest = rest.slice(Math.max(end, rest.length - longestRest))
    },
    get lastAnswer() {
      // A tunnel that opened and then broke says nothing about the repository.
      return last?.from === 'proxy' && last.status < 300 ? undefined : last
    },
  }
}
