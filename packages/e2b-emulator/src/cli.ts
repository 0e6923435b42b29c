import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { createEmulator } from './emulator.ts'
import { EmulatorError } from './errors.ts'

const USAGE = `Usage: warmbox-e2b-emulator [--port <number>] [--seed <text>] [--runtime auto|real|scripted | --unsafe-host]
       warmbox-e2b-emulator --help | --version

Serves the E2B API on 127.0.0.1 and prints the variables that point an E2B SDK at it. Ctrl-C ends it and removes
what it put on this machine.

  --unsafe-host  For Linux machines that cannot isolate processes: commands of sandboxes run UNCONFINED as you.
                 They can read, change and delete whatever you can, and absolute paths in them are your machine's.`

/**
 * Runs the command line; returns the exit code once the emulator is closed: 0 after a signal, 1 where it cannot serve, 2
 * for arguments it does not understand.
 */
export async function main(argv: readonly string[]): Promise<number> {
  const wish = parse(argv)
  if ('print' in wish) {
    console.log(wish.print)
    return 0
  }
  if ('refusal' in wish) {
    console.error(wish.refusal)
    return 2
  }
  const { port, seed, runtime } = wish
  const emulator = createEmulator({ runtime, ...(seed === undefined ? {} : { seed }) })
  const stop = nextSignal()
  try {
    const { connection } = await emulator.listen({ port })
    console.error(`runtime: ${emulator.runtime.kind} (${emulator.runtime.reason})`)
    console.log(`export E2B_API_URL=${connection.apiUrl}`)
    console.log(`export E2B_SANDBOX_URL=${connection.sandboxUrl}`)
    console.log(`export E2B_API_KEY=${connection.apiKey}`)
    await stop
    return 0
  } catch (error) {
    if (!(error instanceof EmulatorError)) throw error
    console.error([error.message, error.hint].filter((line) => line !== undefined).join('\n'))
    return 1
  } finally {
    await emulator.close()
  }
}

const RUNTIMES = ['auto', 'real', 'scripted'] as const

type Wish =
  | { readonly print: string }
  | { readonly refusal: string }
  | {
      readonly port: number
      readonly seed: string | undefined
      readonly runtime: (typeof RUNTIMES)[number] | 'unsafe-host'
    }

function parse(argv: readonly string[]): Wish {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        help: { type: 'boolean', short: 'h', default: false },
        version: { type: 'boolean', default: false },
        port: { type: 'string', default: '0' },
        seed: { type: 'string' },
        runtime: { type: 'string' },
        'unsafe-host': { type: 'boolean', default: false },
      },
    })
    if (values.help) return { print: USAGE }
    if (values.version) return { print: version() }
    const port = portOf(values.port)
    if (port === undefined) return { refusal: `--port must be a number from 0 to 65535, not "${values.port}"` }
    const { seed, runtime: name = 'auto' } = values
    if (values['unsafe-host']) {
      if (values.runtime !== undefined) return { refusal: '--unsafe-host is a runtime of its own; leave out --runtime' }
      return { port, seed, runtime: 'unsafe-host' }
    }
    const runtime = RUNTIMES.find((known) => known === name)
    if (runtime === undefined) return { refusal: `--runtime must be one of ${RUNTIMES.join(', ')}, not "${name}"` }
    return { port, seed, runtime }
  } catch (error) {
    return { refusal: `${error instanceof Error ? error.message : String(error)}\n\n${USAGE}` }
  }
}

/** Digits alone: what else JavaScript takes for a number is a slip here. */
function portOf(text: string): number | undefined {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  return port <= 65_535 ? port : undefined
}

function version(): string {
  const manifest: { readonly version: string } = JSON.parse(
    readFileSync(new URL('../package.json', import.meta.url), 'utf8'),
  )
  return manifest.version
}

/** Resolves on the first one. The next has its usual effect, at once; what is left then is removed all the same. */
function nextSignal(): Promise<void> {
  const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  return new Promise((resolve) => {
    const stop = () => {
      for (const name of names) process.off(name, stop)
      resolve()
    }
    for (const name of names) process.on(name, stop)
  })
}
