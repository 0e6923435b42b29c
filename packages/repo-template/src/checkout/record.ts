import { quoteShell } from '@warmbox/resolution'

/** What a checkout was made from and for. Holds no secret. Baked into the image and kept up to date by a sync. */
export interface CheckoutRecord {
  readonly version: 1
  /** Canonical clone URL. */
  readonly repository: string
  /** Absolute directory of the checkout. */
  readonly path: string
  /** Commit checked out. */
  readonly sha: string
  /** Hash over the lockfiles setup last ran with; empty where it never did. */
  readonly lockfiles: string
  /** Hash over what differs in tracked files from the commit, which right after setup is what setup changed. */
  readonly worktree: string
  /** Last clone or checkout, ISO 8601 in UTC. */
  readonly clonedAt: string
  /** Last successful setup, ISO 8601 in UTC; empty where it never ran. */
  readonly builtAt: string
}

/** In the repository's own directory: no checkout, `git clean` or other repository touches it there. */
export const RECORD_IN_GIT = 'warmbox.json'

/** Where an image says what it is, for people and tools. */
export const TEMPLATE_RECORD = '/home/user/.warmbox/template.json'

const lockfiles = [
  'package-lock.json',
  'npm-shrinkwrap.json',
  'pnpm-lock.yaml',
  'yarn.lock',
  'bun.lock',
  'bun.lockb',
  'deno.lock',
  'Cargo.lock',
  'go.sum',
  'poetry.lock',
  'uv.lock',
  'pdm.lock',
  'Pipfile.lock',
  'requirements*.txt',
  'Gemfile.lock',
  'composer.lock',
  'mix.lock',
  'pubspec.lock',
  'Package.resolved',
  'Podfile.lock',
  'gradle.lockfile',
  'packages.lock.json',
  'flake.lock',
  'conda-lock.yml',
  'pixi.lock',
]

/** Counted where a repository commits no lockfile at all: then they are all that says what gets installed. */
const manifests = [
  'package.json',
  'pyproject.toml',
  'setup.py',
  'Cargo.toml',
  'go.mod',
  'Gemfile',
  'composer.json',
  'mix.exs',
  'pubspec.yaml',
]

const anywhere = (names: readonly string[]): string => names.map((name) => quoteShell(`:(glob)**/${name}`)).join(' ')

/**
 * Lines that set `warmbox_lockfiles` and `warmbox_worktree` for the checkout in the current directory. The ids git
 * already has are hashed, not the files.
 */
export const measureLines: readonly string[] = [
  `warmbox_inputs="$(git ls-files --stage -- ${anywhere(lockfiles)})"`,
  `[ -n "$warmbox_inputs" ] || warmbox_inputs="$(git ls-files --stage -- ${anywhere(manifests)})"`,
  'warmbox_lockfiles="$(printf %s "$warmbox_inputs" | git hash-object --stdin)"',
  'warmbox_worktree="$(git -c core.fsmonitor=false diff --no-ext-diff --no-textconv --binary HEAD | git hash-object --stdin)"',
]

export interface RecordInputs {
  readonly repository: string
  readonly path: string
  /** Instead of the lockfiles of the checkout: those setup last ran with. */
  readonly lockfiles?: string
  /** Instead of now. */
  readonly builtAt?: string
}

/** Lines that write the record of the checkout in the current directory. */
export const recordLines = ({ repository, path, lockfiles: baked, builtAt }: RecordInputs): readonly string[] => [
  ...measureLines,
  'warmbox_git_directory="$(git rev-parse --absolute-git-dir)"',
  `printf '{"version":1,"repository":%s,"path":%s,"sha":"%s","lockfiles":"%s","worktree":"%s","clonedAt":"%s","builtAt":"%s"}\\n' \\`,
  `  ${quoteShell(JSON.stringify(repository))} ${quoteShell(JSON.stringify(path))} \\`,
  `  "$(git rev-parse --verify HEAD)" ${baked === undefined ? '"$warmbox_lockfiles"' : quoteShell(baked)} "$warmbox_worktree" \\`,
  `  "$(date -u -r "$warmbox_git_directory/HEAD" +%Y-%m-%dT%H:%M:%SZ)" ${builtAt === undefined ? '"$(date -u +%Y-%m-%dT%H:%M:%SZ)"' : quoteShell(builtAt)} \\`,
  `  > "$warmbox_git_directory/${RECORD_IN_GIT}.new"`,
  `mv -f -- "$warmbox_git_directory/${RECORD_IN_GIT}.new" "$warmbox_git_directory/${RECORD_IN_GIT}"`,
]

const textFields = ['repository', 'path', 'sha', 'lockfiles', 'worktree', 'clonedAt', 'builtAt'] as const

/** The record in a text, or `undefined` where the text is none of this version: then nothing is known of the checkout. */
export const parseRecord = (text: string): CheckoutRecord | undefined => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // Anybody in the sandbox may have written to it; an unreadable record is no record.
    return undefined
  }
  if (typeof value !== 'object' || value === null || !('version' in value) || value.version !== 1) return undefined
  const fields = new Map<string, unknown>(Object.entries(value))
  const texts = textFields.flatMap((name) => {
    const field = fields.get(name)
    return typeof field === 'string' ? [field] : []
  })
  if (texts.length !== textFields.length) return undefined
  const [repository = '', path = '', sha = '', lockfileHash = '', worktree = '', clonedAt = '', builtAt = ''] = texts
  return { version: 1, repository, path, sha, lockfiles: lockfileHash, worktree, clonedAt, builtAt }
}
