import dgram from 'node:dgram'
import dns from 'node:dns'
import { isIP, Socket } from 'node:net'

/**
 * In force for every test file of the package: whatever would leave this machine fails at once. Connections, look-ups of
 * names and datagrams go through here, whichever HTTP client they come from.
 */

const isLoopback = (host: string) =>
  host === 'localhost' || host.endsWith('.localhost') || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))

function refusal(what: string): Error {
  return Object.assign(new Error(`tests stay on this machine: ${what} was refused`), { code: 'ERR_BEYOND_LOOPBACK' })
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null

/** `connect` takes options, a port and a host, a socket file, or an array of options and listener. */
function connectionOf(parameters: readonly unknown[]): { options: Readonly<Record<string, unknown>>; host: string } {
  const [first, second] = parameters
  if (Array.isArray(first)) return connectionOf(first)
  if (!isRecord(first)) {
    const host = typeof first === 'number' && typeof second === 'string' ? second : 'localhost'
    return { options: { port: first, host }, host }
  }
  return { options: first, host: typeof first['host'] === 'string' ? first['host'] : 'localhost' }
}

type LookedUp = (error: Error | null, address?: unknown, family?: unknown) => void

const addressesOf = (found: unknown): unknown[] =>
  Array.isArray(found) ? found.map((entry: unknown) => (isRecord(entry) ? entry['address'] : entry)) : [found]

/** Fails the way a name that cannot be found does, unless a look-up of the caller's own leads back to this machine. */
function guardedLookup(host: string, own: unknown) {
  return (name: string, options: unknown, done: LookedUp): void => {
    const check: LookedUp = (error, address, family) => {
      const stays = addressesOf(address).every((each) => typeof each === 'string' && isLoopback(each))
      done(error ?? (stays ? null : refusal(`a connection to ${host}`)), address, family)
    }
    if (typeof own === 'function') Reflect.apply(own, undefined, [name, options, check])
    else process.nextTick(check, null, host)
  }
}

// oxlint-disable-next-line typescript/unbound-method -- called with the socket as `this`
const { connect } = Socket.prototype
Object.assign(Socket.prototype, {
  connect(this: Socket, ...parameters: unknown[]): Socket {
    const { options, host } = connectionOf(parameters)
    if (isLoopback(host)) return Reflect.apply(connect, this, parameters)
    const listener = (Array.isArray(parameters[0]) ? parameters[0] : parameters).find(
      (parameter) => typeof parameter === 'function',
    )
    // An address would not be looked up.
    const diverted = {
      ...options,
      host: `guarded-${host.replaceAll(':', '-')}`,
      lookup: guardedLookup(host, options['lookup']),
    }
    return Reflect.apply(connect, this, [diverted, listener])
  },
})

/** Answers the callback, the last parameter, with a refusal unless the name is one of this machine. */
function guarded(name: string, original: (...parameters: never[]) => unknown) {
  return (...parameters: unknown[]): unknown => {
    const [host] = parameters
    if (typeof host === 'string' && isLoopback(host)) return Reflect.apply(original, dns, parameters)
    const error = refusal(`${name} of ${String(host)}`)
    const callback = parameters.at(-1)
    if (typeof callback !== 'function') return Promise.reject(error)
    process.nextTick(callback, error)
    return {}
  }
}

for (const target of [dns, dns.promises]) {
  const lookups = Object.entries(target).filter(([name]) => /^(?:lookup|resolve|reverse)/.test(name))
  Object.assign(target, Object.fromEntries(lookups.map(([name, original]) => [name, guarded(name, original)])))
}

// oxlint-disable-next-line typescript/unbound-method -- called with the socket as `this`
const { send } = dgram.Socket.prototype
Object.assign(dgram.Socket.prototype, {
  send(this: dgram.Socket, ...parameters: unknown[]): void {
    const address = parameters.find((parameter, index) => index > 0 && typeof parameter === 'string')
    if (typeof address === 'string' && !isLoopback(address)) throw refusal(`a datagram to ${address}`)
    Reflect.apply(send, this, parameters)
  },
})
