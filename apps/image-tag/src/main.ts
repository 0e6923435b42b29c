/** The program: `image-tag --help` says what it takes and how it ends. */
import process from 'node:process'

import { isWarmboxError } from '@warmbox/identity'

import { run } from './run.ts'

process.exitCode = await main()

async function main(): Promise<number> {
  try {
    return await run({
      args: process.argv.slice(2),
      environment: process.env,
      print: (text) => process.stdout.write(text),
      say: (line) => process.stderr.write(`${line}\n`),
    })
  } catch (error) {
    process.stderr.write(`${describe(error)}\n`)
    return 2
  }
}

function describe(error: unknown): string {
  if (isWarmboxError(error))
    return `${error.message}${error.hint === undefined ? '' : `\n${error.hint}`} [${error.code}]`
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}
