import { quoteShell } from '@warmbox/resolution'
import { type Credential, originScope } from '../credential.ts'
import { gitConfigVariables, hermeticSettings, hermeticVariables } from '../head/git-environment.ts'

/** Which commit a checkout is to have. Absent: whatever the host's HEAD, or the branch, is at that moment. */
export type Wanted = { readonly sha: string } | { readonly sha: undefined; readonly branch: string | undefined }

const exportLine = (variables: Readonly<Record<string, string>>): string =>
  `export ${Object.entries(variables)
    .map(([name, value]) => `${name}=${quoteShell(value)}`)
    .join(' ')}`

/** Of the environment, what would lead git to another repository, other paths, files or ids than are meant. */
const misleading = [
  'GIT_DIR',
  'GIT_WORK_TREE',
  'GIT_COMMON_DIR',
  'GIT_INDEX_FILE',
  'GIT_OBJECT_DIRECTORY',
  'GIT_ALTERNATE_OBJECT_DIRECTORIES',
  'GIT_SHALLOW_FILE',
  'GIT_GRAFT_FILE',
  'GIT_REPLACE_REF_BASE',
  'GIT_NAMESPACE',
  'GIT_PREFIX',
  'GIT_LITERAL_PATHSPECS',
  'GIT_GLOB_PATHSPECS',
  'GIT_NOGLOB_PATHSPECS',
  'GIT_ICASE_PATHSPECS',
  'GIT_DIFF_OPTS',
  'GIT_EXTERNAL_DIFF',
  'GIT_ATTR_SOURCE',
  'GIT_TEMPLATE_DIR',
  'GIT_DEFAULT_HASH',
  'GIT_CONFIG_PARAMETERS',
]

/** And what would write the credential down, or send it to a host that nobody vouches for. */
const telling = ['GIT_CURL_VERBOSE', 'GIT_SSL_NO_VERIFY', '"${!GIT_TRACE@}"']

/**
 * Takes it out of the script's environment, where a sandbox, an image or build variables may have put it. A replaced
 * object is not the one that is meant either.
 */
export const ownGitLine = `unset ${[...misleading, ...telling].join(' ')}; export GIT_NO_REPLACE_OBJECTS=1`

/** Before a command of the caller's, for which what {@link ownGitLine} and {@link enterLines} have set is not meant. */
export const callersGitLine = 'unset GIT_NO_REPLACE_OBJECTS GIT_CEILING_DIRECTORIES'

/**
 * Lines that enter a checkout, whose directory is a shell word. From then on git looks for a repository nowhere above:
 * around a broken checkout there may be another one, and git would answer for, or change, that.
 */
export const enterLines = (directory: string): readonly string[] => [
  `cd -P -- ${directory}`,
  'export GIT_CEILING_DIRECTORIES="${PWD%/*}/"',
]

/** The header of a credential comes after the settings that are always there. */
const headerIndex = hermeticSettings.length

/** Holds the header while {@link hermeticGitLines} are in force with a credential. */
export const HEADER_VARIABLE = `GIT_CONFIG_VALUE_${headerIndex}`

/**
 * Lines that make every git of the script ask nobody, follow no redirect and speak https only. With a credential in
 * `variable`, git sends it to the clone URL's origin; the header exists in the environment of this script alone. It
 * is in no argument list, remote URL or file.
 */
export const hermeticGitLines = (
  origin: string,
  variable: string,
  scheme: Credential['scheme'] = 'Basic',
): readonly string[] => {
  const presented = scheme === 'Basic' ? `\${${variable}}` : `$(printf %s "\${${variable}}" | base64 -d)`
  return [
    ownGitLine,
    exportLine({ ...hermeticVariables, ...gitConfigVariables(hermeticSettings) }),
    `if [ -n "\${${variable}-}" ]; then`,
    `  export GIT_CONFIG_COUNT=${headerIndex + 1} GIT_CONFIG_KEY_${headerIndex}=${quoteShell(originScope(origin))}`,
    `  export ${HEADER_VARIABLE}="Authorization: ${scheme} ${presented}"`,
    'fi',
  ]
}

/** Lines for git that has everything already: as hermetic, and no protocol is allowed. */
export const offlineGitLines: readonly string[] = [
  ownGitLine,
  exportLine({ ...hermeticVariables, GIT_ALLOW_PROTOCOL: 'none', ...gitConfigVariables(hermeticSettings) }),
]

/**
 * Every git of the script that talks to a host gets this long together, counted from the script's start. A server that
 * goes on giving a byte now and then is slow to no setting of git's. Needs `timeout`, so for images, which have it.
 */
export const boundedGitLines = (milliseconds: number): readonly string[] => {
  const seconds = Math.ceil(milliseconds / 1000)
  return [
    'git() {',
    '  case "$1" in',
    '    clone|fetch|submodule|lfs)',
    '      local status=0',
    `      timeout --kill-after=10 "$((SECONDS < ${seconds} ? ${seconds} - SECONDS : 1))" git "$@" || status=$?`,
    `      if [ "$status" = 124 ] || [ "$status" = 137 ]; then echo "warmbox: git $1 was ended after ${seconds} seconds" >&2; fi`,
    '      return "$status"',
    '      ;;',
    '    *) command git "$@" ;;',
    '  esac',
    '}',
  ]
}

/** Shell text that fails where the current directory is in no checkout with a commit. First part of {@link whereLines}. */
export const askWhere = `warmbox_where="$(git rev-parse 'HEAD^{commit}' --absolute-git-dir)"`

/**
 * Lines that set `warmbox_head` and `warmbox_git_directory`, an absolute path, for the checkout in the current directory.
 * One process for both: in a sandbox starting one costs more than what it does. The path comes last, whatever is in it.
 */
export const whereLines: readonly string[] = [
  askWhere,
  `warmbox_head="\${warmbox_where%%$'\\n'*}"`,
  `warmbox_git_directory="\${warmbox_where#*$'\\n'}"`,
]

/** Fetches one commit into the repository of the current directory; all branches where the host gives no single commit. */
export const fetchLines = (url: string, sha: string, depth: string): readonly string[] => [
  `if ! git fetch --quiet --no-tags ${depth} -- ${quoteShell(url)} ${quoteShell(sha)}; then`,
  '  echo "warmbox: the host does not give this commit by its id, fetching every ref" >&2',
  `  git fetch --quiet --no-tags --unshallow -- ${quoteShell(url)} '+refs/*:refs/warmbox/*' 2>/dev/null ||`,
  `    git fetch --quiet --no-tags -- ${quoteShell(url)} '+refs/*:refs/warmbox/*'`,
  `  git for-each-ref --format='delete %(refname)' refs/warmbox/ | git update-ref --stdin`,
  'fi',
]

/** An empty repository in `directory`, a shell word, with `url` as its remote. */
export const initLines = (url: string, sha: string, directory: string): readonly string[] => [
  // A repository of SHA-256 ids has to be told so before the first fetch.
  `git init --quiet${sha.length === 64 ? ' --object-format=sha256' : ''} -- ${directory}`,
  `cd -- ${directory}`,
  `git remote add origin ${quoteShell(url)}`,
]

/** Clones into `directory`, a shell word: `"$name"` or a quoted path. The remote is `url`, which carries no credential. */
export const cloneLines = (url: string, wanted: Wanted, directory: string): readonly string[] => [
  ...(wanted.sha === undefined
    ? [
        `git clone --quiet --depth=1 --no-tags ${wanted.branch === undefined ? '' : `--branch=${quoteShell(wanted.branch)} `}-- ${quoteShell(url)} ${directory}`,
        `cd -- ${directory}`,
        `warmbox_sha="$(git rev-parse --verify HEAD)"`,
      ]
    : [
        ...initLines(url, wanted.sha, directory),
        ...fetchLines(url, wanted.sha, '--depth=1'),
        `warmbox_sha=${quoteShell(wanted.sha)}`,
      ]),
  ...checkoutLines,
]

/** What git calls a tree without entries, by either hash. */
const emptyTrees = [
  '4b825dc642cb6eb9a060e54bf8d69288fbee4904',
  '6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321',
]

/**
 * A checkout that reports success and holds something else, or nothing, has happened to others; so it is looked at. They
 * need `warmbox_fail` and, in `warmbox_sha`, the commit.
 */
export const proofLines: readonly string[] = [
  // Where there is no commit, the next line says so.
  `warmbox_proof="$(git rev-parse 'HEAD^{commit}' 'HEAD^{tree}' || true)"`,
  `[ "\${warmbox_proof%%$'\\n'*}" = "$warmbox_sha" ] || warmbox_fail "the checkout is not at $warmbox_sha"`,
  `case "\${warmbox_proof#*$'\\n'}" in ${emptyTrees.join('|')}) warmbox_fail "the commit holds no files" ;; esac`,
]

/** Detached on purpose: an image of a commit is the same whichever branch led to it. */
export const checkoutLines: readonly string[] = [
  'git -c advice.detachedHead=false checkout --quiet --detach "$warmbox_sha"',
  ...proofLines,
]

/**
 * Runs a command of the caller's in a shell of its own: whatever its text is, it cannot end, extend or comment out the
 * script around it. Without input, because nobody is there to answer, and because bash takes a socket on its input for
 * a remote login and reads start-up files that do not survive `-u`.
 */
export const commandLine = (command: string): string => `bash -euo pipefail -c ${quoteShell(command)} </dev/null`
