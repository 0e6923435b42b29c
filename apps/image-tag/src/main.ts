/** The program: `image-tag --help` says what it takes and how it ends. */
import process from 'node:process'

import { run } from './run.ts'

process.exitCode = await run({
  args: process.argv.slice(2),
  environment: process.env,
  print: (text) => process.stdout.write(text),
  say: (line) => process.stderr.write(`${line}\n`),
})
