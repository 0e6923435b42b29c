import { parseArgs } from 'node:util'

import { fail } from './error.ts'
import { plain } from './plain.ts'

const options = {
  url: { type: 'string' },
  setup: { type: 'string', multiple: true },
  env: { type: 'string', multiple: true },
  base: { type: 'string' },
  file: { type: 'string', multiple: true },
  extra: { type: 'string', multiple: true },
  cpu: { type: 'string' },
  memory: { type: 'string' },
  workdir: { type: 'string' },
  submodules: { type: 'boolean' },
  lfs: { type: 'boolean' },
  'salt-env': { type: 'string' },
  prefix: { type: 'string' },
  json: { type: 'boolean' },
  record: { type: 'string' },
  against: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean' },
} as const

/**
 * Takes a command line apart.
 *
 * @throws ImageTagError `USAGE`, which quotes no value: one may be a secret in the wrong place.
 */
export function parseCommandLine(given: readonly string[]) {
  // Package managers hand on the separator between their arguments and a script's.
  const args = given[0] === '--' ? given.slice(1) : [...given]
  const { tokens } = parseArgs({ args, options, allowPositionals: true, strict: false, tokens: true })
  const seen = new Set<string>()
  for (const token of tokens) {
    if (token.kind !== 'option') continue
    checkOption(token.name, plain(token.rawName), token)
    if (seen.has(token.name) && isSingle(token.name)) fail('USAGE', `--${token.name} was given twice.`, ONCE)
    seen.add(token.name)
  }
  return parseArgs({ args, options, allowPositionals: true })
}

/** What is advised where something stands twice. */
export const ONCE = 'Leave out the one that does not count.'

const checkOption = (
  name: string,
  written: string,
  { value, inlineValue }: { readonly value?: string | undefined; readonly inlineValue?: boolean | undefined },
): void => {
  switch (typeOf(name)) {
    case undefined:
      return fail(
        'USAGE',
        `There is no option ${written}.`,
        `--help says what there is. A checkout of that name is written ./${written}.`,
      )
    case 'boolean':
      if (value !== undefined) fail('USAGE', `${written} takes no value.`, `Write ${written} alone.`)
      return
    case 'string':
      if (value === undefined) fail('USAGE', `${written} takes a text.`, `Write ${written}=<text>.`)
      if (inlineValue === false && /^-./.test(value)) {
        fail('USAGE', `${written} is followed by a text that starts with a dash.`, `Write ${written}=<text>.`)
      }
  }
}

const typeOf = (name: string): 'string' | 'boolean' | undefined => table.get(name)?.type

/** A value given twice would count in part; a switch thrown twice is on. */
const isSingle = (name: string): boolean => typeOf(name) === 'string' && table.get(name)?.multiple !== true

const table: ReadonlyMap<string, { readonly type: 'string' | 'boolean'; readonly multiple?: boolean }> = new Map(
  Object.entries(options),
)
