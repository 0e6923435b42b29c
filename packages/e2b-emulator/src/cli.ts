import { parseArgs } from 'node:util'
import { createEmulator } from './emulator.ts'
import { EmulatorError } from './errors.ts'

const USAGE = `Usage: warmbox-e2b-emulator [--port <number>] [--seed <text>] [--runtime auto|real|scripted | --unsafe-host]

Serves the E2B API on 127.0.0.1 and prints the variables that point an E2B SDK at it. Ctrl-C ends it and removes
what it put on this machine.

  --unsafe-host  For Linux machines that cannot isolate processes: commands of sandboxes run UNCONFINED as you.
                 They can read, change and delete whatever you can, and absolute paths in them are your machine's.`

/** Runs the command line; returns the exit code once the emulator is closed. */
export async function main(argv: readonly string[]): Promise<number> {
  const settings = parse(argv)
  if (typeof settings === 'string') {
    console.error(settings)
    return settings === USAGE ? 0 : 2
  }
  const { port, seed, runtime } = settings
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

function parse(argv: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...argv],
      options: {
        help: { type: 'boolean', short: 'h', default: false },
        port: { type: 'string', default: '0' },
        seed: { type: 'string' },
        runtime: { type: 'string' },
        'unsafe-host': { type: 'boolean', default: false },
      },
    })
    if (values.help) return USAGE
    const port = Number(values.port)
    if (!Number.isInteger(port) || port < 0 || port > 65_535) return `--port must be a port number, not ${values.port}`
    if (values['unsafe-host']) {
      if (values.runtime !== undefined) return '--unsafe-host is a runtime of its own; leave out --runtime'
      return { port, runtime: 'unsafe-host', seed: values.seed } as const
    }
    const { runtime: name = 'auto' } = values
    const runtime = RUNTIMES.find((known) => known === name)
    if (runtime === undefined) return `--runtime must be one of ${RUNTIMES.join(', ')}, not ${name}`
    return { port, runtime, seed: values.seed }
  } catch (error) {
    return `${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`
  }
}

function nextSignal(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGINT', () => resolve())
    process.once('SIGTERM', () => resolve())
  })
}
