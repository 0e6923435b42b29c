/** The demo: `pnpm demo --help` says what it takes. Exit code 0: every session worked and no credential leaked. */
import process from 'node:process'

import { isWarmboxError } from '@warmbox/identity'

import { openOrigin, type Origin } from './origin.ts'
import { resolveOptions, usage, UsageError, type DemoOptions } from './options.ts'
import { choosePlatform, openPlatform, type Platform } from './platform.ts'
import { createPrinter } from './printer.ts'
import { Relay } from './relay.ts'
import { checkoutOf } from './session.ts'
import { tellSummary } from './tell-summary.ts'
import { walk, type WalkSummary } from './walk.ts'

process.exitCode = await main()

async function main(): Promise<number> {
  const interrupted = new AbortController()
  const stop = (name: NodeJS.Signals): void => {
    interrupted.abort(new Error(`ended by ${name}`))
    // A second signal means now: give the process back its default behaviour.
    process.removeAllListeners('SIGINT').removeAllListeners('SIGTERM')
  }
  process.once('SIGINT', stop).once('SIGTERM', stop)
  try {
    const options = resolveOptions(process.argv.slice(2), process.env)
    if (options === 'help') {
      process.stdout.write(usage)
      return 0
    }
    const summary = await demo(options, interrupted.signal)
    if (options.json) process.stdout.write(`${JSON.stringify(summary)}\n`)
    return summary.sessions.every((session) => session.ok) && summary.tokenLeaks === 0 ? 0 : 1
  } catch (error) {
    if (interrupted.signal.aborted) {
      process.stderr.write('\nStopped; everything that was started is gone.\n')
      return 130
    }
    process.stderr.write(`${explain(error)}\n`)
    return 1
  } finally {
    process.removeListener('SIGINT', stop).removeListener('SIGTERM', stop)
  }
}

async function demo(options: DemoOptions, signal: AbortSignal): Promise<WalkSummary> {
  const printer = createPrinter(options.json ? process.stderr : process.stdout, signal)
  const relay = new Relay(printer)
  let origin: Origin | undefined
  let platform: Platform | undefined
  try {
    const kind = await choosePlatform(options.platform)
    if (kind.name === 'scripted')
      printer.notice(`No command runs in this walk (${kind.reason}): the emulator answers from a script.`)
    origin = await openOrigin(options, signal)
    platform = await openPlatform(kind, {
      certificateAuthority: origin.certificateAuthority,
      checkout: checkoutOf(origin.cloneUrl),
    })
    printer.notice(`Sandboxes: ${platform.name}`)
    for (const particular of platform.particulars) printer.detail(particular)
    printer.notice(`Repository: ${origin.description}`)
    const summary = await walk({ platform, origin, printer, relay, signal })
    tellSummary(printer, summary)
    return summary
  } finally {
    await platform?.close()
    await origin?.close()
  }
}

function explain(error: unknown): string {
  if (isWarmboxError(error))
    return `${error.message}${error.hint === undefined ? '' : `\n${error.hint}`} [${error.code}]`
  if (error instanceof UsageError) return error.message
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
