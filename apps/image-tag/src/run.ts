import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import { IDENTITY_SCHEME, parseCloneUrl } from '@warmbox/identity'

import { readCheckout, readRemote } from './checkout.ts'
import { fail } from './error.ts'
import { type Explanation, explainCheckout, explainRecord } from './explain.ts'
import { type FileHashes, hashFiles, hashLockfiles } from './hashed-files.ts'
import { type Named, nameCheckout } from './named.ts'
import { type Options, readOptions } from './options.ts'
import { plain } from './plain.ts'
import { present } from './present.ts'
import { readRecordFile, writeRecordFile } from './record-file.ts'
import { recordOf } from './recorded.ts'
import { readRemoteUrl } from './remote-url.ts'
import { usage } from './usage.ts'
import { tellChanges, tellError, tellExplanation, tellMissing } from './words.ts'

/** What the program gets from its process. */
export interface Surroundings {
  readonly args: readonly string[]
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Results, for programs. */
  readonly print: (text: string) => void
  /** Words, for people. */
  readonly say: (line: string) => void
}

/** Carries out one command line; answers the exit code that `--help` describes. Whatever is wrong was said. */
export async function run(surroundings: Surroundings): Promise<0 | 1 | 2> {
  try {
    return await carryOut(surroundings)
  } catch (error) {
    surroundings.say(tellError(error))
    return 2
  }
}

const carryOut = async ({ args, environment, print, say }: Surroundings): Promise<0 | 1> => {
  const options = readOptions(args, environment)
  if (options === 'help') {
    print(usage)
    return 0
  }
  if (options === 'version') {
    print(`image-tag ${await ownVersion()}, identity scheme ${IDENTITY_SCHEME}\n`)
    return 0
  }
  const warnings: string[] = []
  const { named, files } = await name(options.checkout, options, 'refuse', (warning) => warnings.push(warning))
  for (const warning of warnings) say(warning)
  const explanation = options.against === undefined ? undefined : await explain(options.against, named, options, say)
  if (options.record !== undefined) await writeRecordFile(options.record, recordOf(named))
  if (options.json) print(`${JSON.stringify(summary(named, files, warnings, explanation))}\n`)
  else {
    print(`image=${named.image}\ncache_key=${named.cacheKey}\n`)
    if (explanation !== undefined) for (const line of tellExplanation(explanation, options.against ?? '')) say(line)
  }
  return explanation?.same === false ? 1 : 0
}

interface NamedFiles {
  readonly named: Named
  readonly files: FileHashes
}

const name = async (
  path: string,
  options: Options,
  absent: 'refuse' | 'leave out',
  warn: (warning: string) => void,
): Promise<NamedFiles> => {
  const checkout = await readCheckout(path)
  const { top, sha, changes } = checkout
  const cloneUrl = options.url === undefined ? await remoteUrl(top, warn) : parseCloneUrl(options.url).cloneUrl
  const { files: given } = options
  const missing = (submodule: string): void => warn(tellMissing(submodule))
  const files =
    given === undefined
      ? await hashLockfiles(checkout, options.inputs.submodules, missing)
      : await hashFiles(checkout, given, absent)
  if (changes !== undefined) warn(tellChanges(changes))
  if (given === undefined && Object.keys(files).length === 0) {
    warn('No lockfile was found: the hash stays when dependencies change. Name the files that count by --file.')
  }
  const named = nameCheckout({ cloneUrl, sha, changes: changes?.digest, files }, options.inputs, options.prefix)
  return { named, files }
}

const remoteUrl = async (top: string, warn: (warning: string) => void): Promise<string> => {
  const remote = await readRemote(top)
  if (remote.name !== 'origin') {
    warn(`There is no remote origin: ${plain(remote.name)} names the repository. --url says which one is meant.`)
  }
  const { cloneUrl, stripped } = readRemoteUrl(remote.name, remote.url)
  if (stripped)
    warn(`The URL of the remote ${plain(remote.name)} names a user or holds credentials, which were left out.`)
  return cloneUrl
}

const explain = async (
  against: string,
  named: Named,
  options: Options,
  say: (line: string) => void,
): Promise<Explanation> => {
  const found = await present(against, 'follow')
  if (found === undefined)
    fail('USAGE', `--against: there is nothing at ${plain(against)}.`, 'Give a checkout or a record.')
  if (!found.isDirectory()) return explainRecord(await readRecordFile(against, found), named)
  const other = await name(against, options, 'leave out', (warning) => say(`${plain(against)}: ${warning}`))
  return explainCheckout(other.named, named)
}

const summary = (
  { image, cacheKey, hash, scheme, changes, identity }: Named,
  files: FileHashes,
  warnings: readonly string[],
  against: Explanation | undefined,
) => ({ image, cacheKey, hash, scheme, sha: identity.sha, dirty: changes !== undefined, files, warnings, against })

const ownVersion = async (): Promise<string> => {
  const manifest: { readonly version: string } = JSON.parse(
    await readFile(join(import.meta.dirname, '../package.json'), 'utf8'),
  )
  return manifest.version
}
