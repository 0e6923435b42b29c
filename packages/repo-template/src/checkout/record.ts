import { quoteShell } from '@warmbox/resolution'
import { whereLines } from './git-lines.ts'
import { measureLines } from './measure.ts'

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
  /**
   * Hash over how tracked files and index differed from the commit when nobody but a checkout and setup had changed them.
   * Empty where that was never seen. Whatever hashes to something else is somebody's work.
   */
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

/** Lines that set `warmbox_record` to the first line of a file, shell text; empty where there is none. Bounded: anybody may have written it. */
export const readRecordLines = (file: string): readonly string[] => [
  'warmbox_record=',
  `if [ -f "${file}" ]; then IFS= read -r -n 4096 warmbox_record 2>/dev/null < "${file}" || true; fi`,
]

/**
 * Lines that set `warmbox_record`, the text of the record there is, `warmbox_known`, its commit, and `warmbox_baked`, its
 * `worktree`; else empty. They need `whereLines`.
 */
export const knownLines: readonly string[] = [
  ...readRecordLines(`$warmbox_git_directory/${RECORD_IN_GIT}`),
  'warmbox_recorded() {',
  `  local pattern='^\\{"version":1,.*"'"$1"'":"([0-9a-f]*)".*\\}$'`,
  '  if [[ "$warmbox_record" =~ $pattern ]]; then printf %s "${BASH_REMATCH[1]}"; fi',
  '}',
  'warmbox_known="$(warmbox_recorded sha)"',
  'warmbox_baked="$(warmbox_recorded worktree)"',
]

/**
 * Runs lines that change the checkout for us, such as setup, and sets `warmbox_baked` to what the record shall say of
 * its work tree. What they left is theirs only where nothing of anybody else's was there before; otherwise what was
 * known stays, and everything that differs from it is somebody's work.
 */
export const attributed = (lines: readonly string[]): readonly string[] => [
  ...whereLines,
  ...measureLines,
  ...knownLines,
  'warmbox_ours=no',
  'if [ "$warmbox_worktree" = "$warmbox_clean" ] || [ "$warmbox_worktree" = "$warmbox_baked" ]; then warmbox_ours=yes; fi',
  ...lines,
  'warmbox_look',
  '[ "$warmbox_head" = "$(git rev-parse --verify HEAD)" ] || warmbox_ours=no',
  'if [ "$warmbox_ours" = yes ]; then warmbox_baked="$warmbox_worktree"; fi',
]

export interface RecordInputs {
  readonly repository: string
  readonly path: string
  /** Instead of the commit checked out. */
  readonly sha?: string
  /** Instead of the lockfiles of the checkout: those setup last ran with. */
  readonly lockfiles?: string
  /** Instead of now. */
  readonly builtAt?: string
}

/**
 * Lines that write the record of the checkout in the current directory, which nobody has worked in: what differs in it
 * counts as setup's.
 */
export const recordLines = (inputs: RecordInputs): readonly string[] => [
  ...whereLines,
  ...measureLines,
  ...writeRecordLines(inputs, '$warmbox_worktree'),
]

/** The same after `whereLines` and `measureLines`, with the shell text of what counts as setup's. */
export const writeRecordLines = (
  { repository, path, sha, lockfiles: baked, builtAt }: RecordInputs,
  worktree: '$warmbox_worktree' | '$warmbox_baked',
): readonly string[] => [
  // Whatever lies there is not written through, as a link would be.
  `if [ -e "$warmbox_git_directory/${RECORD_IN_GIT}.new" ] || [ -L "$warmbox_git_directory/${RECORD_IN_GIT}.new" ]; then`,
  `  rm -rf -- "$warmbox_git_directory/${RECORD_IN_GIT}.new"`,
  'fi',
  `printf '{"version":1,"repository":%s,"path":%s,"sha":"%s","lockfiles":"%s","worktree":"%s","clonedAt":"%s","builtAt":"%s"}\\n' \\`,
  `  ${quoteShell(JSON.stringify(repository))} ${quoteShell(JSON.stringify(path))} \\`,
  `  ${sha === undefined ? '"$warmbox_head"' : quoteShell(sha)} ${baked === undefined ? '"$warmbox_lockfiles"' : quoteShell(baked)} "${worktree}" \\`,
  `  "$(date -u -r "$warmbox_git_directory/HEAD" +%Y-%m-%dT%H:%M:%SZ)" ${builtAt === undefined ? '"$(date -u +%Y-%m-%dT%H:%M:%SZ)"' : quoteShell(builtAt)} \\`,
  `  > "$warmbox_git_directory/${RECORD_IN_GIT}.new"`,
  `mv -f -- "$warmbox_git_directory/${RECORD_IN_GIT}.new" "$warmbox_git_directory/${RECORD_IN_GIT}"`,
]

const textFields = ['repository', 'path', 'sha', 'lockfiles', 'worktree', 'clonedAt', 'builtAt'] as const

/** Empty where the time is not known. */
const isTime = (text: string): boolean => text === '' || !Number.isNaN(Date.parse(text))

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
  // Each goes to somebody as what it says it is.
  if (!/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(sha) || ![clonedAt, builtAt].every(isTime)) return undefined
  return { version: 1, repository, path, sha, lockfiles: lockfileHash, worktree, clonedAt, builtAt }
}
