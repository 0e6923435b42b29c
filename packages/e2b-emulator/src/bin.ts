#!/usr/bin/env node
import { main } from './cli.ts'

// Not a top-level await: the CommonJS build has none.
void main(process.argv.slice(2)).then((code) => {
  process.exitCode = code
  return code
})
