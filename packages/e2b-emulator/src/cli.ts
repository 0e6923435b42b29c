import { parseArgs } from 'node:util'
import { createEmulator } from './emulator.ts'
import { EmulatorError } from './errors.ts'

const USAGE = `Usage: warmbox-e2b-emulator [--port <number>] [--seed <text>] [--runtime auto|real|scripted]

Serves the E2B API on 127.0.0.1 and prints the variables that point an E2B SDK at it. Ctrl-C ends it and removes
what it put on this machine.`

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
        runtime: { type: 'string', default: 'auto' },
      },
    })
    if (values.help) return USAGE
    const port = Number(values.port)
    if (!Number.isInteger(port) || port < 0 || port > 65_535) return `--port must be a port number, not ${values.port}`
    const runtime = RUNTIMES.find((name) => name === values.runtime)
    if (runtime === undefined) return `--runtime must be one of ${RUNTIMES.join(', ')}, not ${values.runtime}`
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
