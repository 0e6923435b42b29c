import { quoteShell } from '@warmbox/resolution'

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
 * Functions that see what git was told not to look at. An entry marked assume-unchanged or skip-worktree hides edits,
 * and a checkout would overwrite them; one whose file is not there is left out of a sparse checkout and stays so.
 * `warmbox_index` is a copy of the index without the marks where there are any. No setting may hide a submodule.
 */
const lookFunctions: readonly string[] = [
  'warmbox_assumed=() warmbox_skipped=()',
  'warmbox_unmark() {',
  '  local file',
  '  warmbox_assumed=() warmbox_skipped=()',
  "  while IFS= read -r -d '' file; do warmbox_assumed+=(\"$file\"); done < <(git ls-files -v -z | sed -n -z 's/^[a-z] //p')",
  "  while IFS= read -r -d '' file; do",
  '    if [ -e "$file" ] || [ -L "$file" ]; then warmbox_skipped+=("$file"); fi',
  "  done < <(git ls-files -v -z | sed -n -z 's/^[Ss] //p')",
  '  warmbox_set_marks no-',
  '}',
  'warmbox_set_marks() {',
  `  if [ "\${#warmbox_assumed[@]}" != 0 ]; then printf '%s\\0' "\${warmbox_assumed[@]}" | git update-index "--$1assume-unchanged" -z --stdin; fi`,
  `  if [ "\${#warmbox_skipped[@]}" != 0 ]; then printf '%s\\0' "\${warmbox_skipped[@]}" | git update-index "--$1skip-worktree" -z --stdin; fi`,
  '}',
  // Files that are gone meanwhile have none.
  'warmbox_mark() {',
  '  local file',
  '  local -A tracked=()',
  '  if [ "$((${#warmbox_assumed[@]} + ${#warmbox_skipped[@]}))" = 0 ]; then return; fi',
  '  while IFS= read -r -d \'\' file; do tracked["$file"]=1; done < <(git ls-files -z)',
  '  local assumed=("${warmbox_assumed[@]}") skipped=("${warmbox_skipped[@]}")',
  '  warmbox_assumed=() warmbox_skipped=()',
  '  for file in "${assumed[@]}"; do if [ -n "${tracked["$file"]-}" ]; then warmbox_assumed+=("$file"); fi; done',
  '  for file in "${skipped[@]}"; do if [ -n "${tracked["$file"]-}" ]; then warmbox_skipped+=("$file"); fi; done',
  "  warmbox_set_marks ''",
  '}',
  'warmbox_index=',
  'warmbox_seen() {',
  '  (',
  '    if [ -n "$warmbox_index" ]; then export GIT_INDEX_FILE="$warmbox_index"; fi',
  '    export GIT_OPTIONAL_LOCKS=0',
  // Untracked files are not asked for; those in a submodule are, whatever its settings say.
  '    git -c core.fsmonitor=false -c status.showUntrackedFiles=normal "$@"',
  '  )',
  '}',
  'warmbox_diff() {',
  '  warmbox_seen diff -O/dev/null --no-ext-diff --no-textconv --no-renames --ignore-submodules=none "$@" HEAD --',
  '}',
  'warmbox_differences() {',
  '  warmbox_diff --binary || return',
  '  if ! warmbox_diff --cached --quiet; then echo staged; warmbox_diff --cached --binary; fi',
  '}',
  'warmbox_look() {',
  `  warmbox_inputs="$(git ls-files --stage -- ${anywhere(lockfiles)})"`,
  `  [ -n "$warmbox_inputs" ] || warmbox_inputs="$(git ls-files --stage -- ${anywhere(manifests)})"`,
  '  warmbox_lockfiles="$(printf %s "$warmbox_inputs" | git hash-object --stdin)"',
  '  warmbox_marks="$(git ls-files -v | grep -m 1 \'^[a-zS] \' || true)"',
  '  if [ -n "$warmbox_marks" ]; then',
  '    warmbox_index="$(mktemp)"',
  // With its time, by which git knows which files were changed too soon after it to be taken for unchanged.
  '    cp -p -- "$(git rev-parse --git-path index)" "$warmbox_index"',
  '    (export GIT_INDEX_FILE="$warmbox_index"; warmbox_unmark)',
  '  fi',
  '  warmbox_worktree="$warmbox_clean"',
  '  warmbox_changed=',
  // Most often there is nothing, and one question is enough.
  '  warmbox_some="$(warmbox_seen status --porcelain=v1 --untracked-files=no --no-renames --ignore-submodules=none)"',
  '  if [ -n "$warmbox_some" ]; then',
  '    warmbox_worktree="$(warmbox_differences | git hash-object --stdin)"',
  '    warmbox_changed="$({ warmbox_diff --name-only -z; warmbox_diff --cached --name-only -z; } | sort -zu | base64 | tr -d \'\\n\')"',
  '  fi',
  '  if [ -n "$warmbox_index" ]; then rm -f -- "$warmbox_index"; warmbox_index=; fi',
  '}',
]

/** What git calls a blob without content, by the length of an id. */
const emptyBlob = {
  40: 'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391',
  64: '473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813',
}

/**
 * Lines that set, for the checkout in the current directory, `warmbox_lockfiles`, `warmbox_worktree`, `warmbox_clean`
 * (which `warmbox_worktree` is where nothing differs), `warmbox_changed`, the base64 of the NUL-terminated names of
 * tracked files that differ, staged ones included, and `warmbox_marks`, not empty where a mark hides something. Of
 * lockfiles the ids git already has are hashed, not the files. `warmbox_look` sets them anew, `warmbox_unmark` takes every
 * mark off that hides a file there is. They need `whereLines`.
 */
export const measureLines: readonly string[] = [
  ...lookFunctions,
  `if [ "\${#warmbox_head}" = 64 ]; then warmbox_clean=${emptyBlob[64]}; else warmbox_clean=${emptyBlob[40]}; fi`,
  'warmbox_look',
]
