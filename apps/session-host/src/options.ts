import { parseArgs } from 'node:util'

import { parseCloneUrl } from '@warmbox/identity'

export const usage = `Usage: pnpm demo [--repo <https URL or local path>] [--json] [--e2b | --scripted]

Walks one repository through Warmbox: a cold start, a warm start, a moved head, a broken setup command and a refresh.

  --repo   the repository to walk with; default: this checkout's own history. A private one takes its token from
           the environment variable WARMBOX_REPOSITORY_TOKEN.
  --json   print one JSON summary as the last line of stdout; what is said on the way goes to stderr
  --scripted  use the emulator without processes: commands answer from a table. Chosen by itself, and said first,
           where this machine allows no namespaces
  --e2b    use E2B itself instead of the emulator: needs E2B_API_KEY, and --repo with an https URL E2B can reach
`

export type RepositoryChoice =
  | { readonly kind: 'own' }
  | { readonly kind: 'path'; readonly path: string }
  | { readonly kind: 'url'; readonly url: string }

export interface DemoOptions {
  readonly repository: RepositoryChoice
  readonly repositoryToken: string | undefined
  readonly json: boolean
  readonly platform: 'emulator' | 'scripted' | 'e2b'
}

/** What was written on the command line cannot be carried out; the message says what to write instead. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/**
 * Reads the command line and the environment variable above, once.
 *
 * @returns `'help'` where `--help` was asked for
 * @throws UsageError for an unknown flag or a combination that cannot work; IdentityError for a malformed URL
 */
export function resolveOptions(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): DemoOptions | 'help' {
  const { values } = parse(args)
  if (values.help === true) return 'help'
  const repository = chooseRepository(values.repo)
  if (values.e2b === true && values.scripted === true)
    throw new UsageError('--e2b and --scripted exclude each other: give one of them.')
  const platform = values.e2b === true ? 'e2b' : values.scripted === true ? 'scripted' : 'emulator'
  if (platform === 'e2b') {
    if (repository.kind !== 'url')
      throw new UsageError('--e2b needs --repo with an https URL: E2B cannot reach a repository on this machine.')
    if (!environment['E2B_API_KEY'])
      throw new UsageError('--e2b needs an API key in the environment variable E2B_API_KEY.')
  }
  return Object.freeze({
    repository,
    repositoryToken: environment['WARMBOX_REPOSITORY_TOKEN'] || undefined,
    json: values.json === true,
    platform,
  })
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      // `pnpm demo -- --json` hands the separator on as well.
      args: args.filter((arg) => arg !== '--'),
      options: {
        repo: { type: 'string' },
        json: { type: 'boolean' },
        e2b: { type: 'boolean' },
        scripted: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
      strict: true,
    })
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`, { cause: error })
  }
}

function chooseRepository(given: string | undefined): RepositoryChoice {
  if (given === undefined) return { kind: 'own' }
  if (given.trim() === '') throw new UsageError('--repo is empty: give an https URL or the path of a checkout.')
  // A scheme or an scp-like host makes it a URL; parseCloneUrl then says what is wrong with one that is not https.
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(given) || /^[^/\s]+@[^/\s]+:/.test(given))
    return { kind: 'url', url: parseCloneUrl(given).cloneUrl }
  return { kind: 'path', path: given }
}
