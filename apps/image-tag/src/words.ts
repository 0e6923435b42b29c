import { IdentityError, isWarmboxError } from '@warmbox/identity'

import type { Changes } from './changes.ts'
import type { Difference, Explanation } from './explain.ts'
import { plain } from './plain.ts'
import { refusalOf } from './refused-input.ts'

/** What is said of a checkout with changes. */
export function tellChanges({ paths }: Changes): string {
  const shown = paths.slice(0, 3).map(plain).join(', ')
  const more = paths.length > 3 ? ` and ${paths.length - 3} more` : ''
  return `The checkout is not what was committed (${shown}${more}): its tag ends in a digest of the changes.`
}

/** What is said of a submodule that the image is to hold and the checkout lacks. */
export const tellMissing = (submodule: string): string =>
  `The submodule ${plain(submodule)} is not checked out: its lockfiles do not count. Run git submodule update --init.`

/** What went wrong and what to do instead; the stack where nobody foresaw it. */
export function tellError(error: unknown): string {
  if (error instanceof IdentityError) {
    const { problem, hint } = refusalOf(error)
    return `${optionOf(error.field ?? '')} ${problem}\n${hint} [${error.code}]`
  }
  if (!isWarmboxError(error)) return error instanceof Error ? (error.stack ?? error.message) : String(error)
  return `${error.message}${error.hint === undefined ? '' : `\n${error.hint}`} [${error.code}]`
}

/** Why one image is not the other, line by line. */
export function tellExplanation({ same, differences, untold }: Explanation, against: string): readonly string[] {
  if (same) return [`The same image as ${plain(against)}`]
  const cacheIsNew =
    untold.length > 0 || differences.some(({ affects, field }) => affects === 'name' && field !== 'prefix')
  const lines = [`Not the same image as ${plain(against)}; ${cacheIsNew ? 'a new hash' : 'the hash is the same'}:`]
  for (const difference of differences) lines.push(`  ${tellDifference(difference)}`)
  if (untold.length > 0) {
    const names = untold.map(label).join(', ')
    lines.push(`  ${names}: the values may have changed; a record does not hold them. A version tells.`)
  }
  return lines
}

const tellDifference = ({ field, before, after }: Difference): string =>
  `${label(field)}: ${before === undefined ? 'none' : plain(before)} -> ${after === undefined ? 'none' : plain(after)}`

/** An input by the option that gives it. */
const label = (field: string): string => {
  for (const [start, option] of families) {
    if (field.startsWith(start)) return `${option} ${plain(field.slice(start.length))}`
  }
  return labels.get(field) ?? plain(field)
}

/** The option that gave what was refused. */
const optionOf = (field: string): string => {
  if (field === 'cloneUrl') return '--url'
  return label(field.startsWith('buildEnv.') ? field.replace(/\.(?:value|version)$/, '') : field)
}

const families = [
  ['buildEnv.', '--env'],
  ['extra.extra:', '--extra'],
  ['extra.file:', 'file'],
] as const

const labels: ReadonlyMap<string, string> = new Map([
  ['sha', 'commit'],
  ['cloneUrl', 'repository'],
  ['setupCommand', '--setup'],
  ['buildEnv', '--env'],
  ['extra', '--extra'],
  ['cpuCount', '--cpu'],
  ['memoryMB', '--memory'],
  ['workingDirectory', '--workdir'],
  ['submodules', '--submodules'],
  ['lfs', '--lfs'],
  ['extra.base', '--base'],
  ['extra.files', 'list of files'],
  ['salt', '--salt-env'],
  ['changes', 'uncommitted changes'],
  ['prefix', '--prefix'],
])
