import { quoteShell } from '@warmbox/resolution'

/** What of a repository lies outside of its own objects. */
export interface CheckoutParts {
  readonly submodules: boolean
  readonly lfs: boolean
}

/**
 * `online` fetches, with what credential and settings git has in the script: a header scoped to one origin goes to
 * submodules and LFS files of that origin and to no other. `offline` takes what lies in the repository's own directory.
 */
type Supply = 'online' | 'offline'

/** Lines that complete the checkout of the current directory. They need `warmbox_fail`. */
export const partLines = ({ submodules, lfs }: CheckoutParts, supply: Supply): readonly string[] => [
  ...(submodules ? submoduleLines(supply) : []),
  ...(lfs ? lfsLines(supply, submodules) : []),
]

const submoduleLines = (supply: Supply): readonly string[] => [
  ...(supply === 'offline'
    ? ['git submodule --quiet update --init --recursive --no-fetch']
    : [
        'if ! git submodule --quiet update --init --recursive --depth=1; then',
        '  echo "warmbox: a submodule could not be fetched by its commit alone, fetching its history" >&2',
        '  git submodule --quiet update --init --recursive --no-recommend-shallow',
        'fi',
      ]),
  // A status that begins with anything but a space is a submodule that is missing, or at another commit.
  `[ -z "$(git submodule status --recursive | grep '^[^ ]' || true)" ] || warmbox_fail "a submodule is not at its commit"`,
]

/** Of this repository alone: the image's own settings of git are not ours to change. */
const lfsSetup = 'git lfs install --local --skip-repo'

/** Files that the repository itself wants left out are not missing. */
const lfsFilter = ['include', 'exclude']
  .map((kind) => `--${kind}="$(git config --file .lfsconfig lfs.fetch${kind} || true)"`)
  .join(' ')

/** A dash in place of a star marks a file that is still its pointer. */
const lfsComplete = `[ -z "$(git lfs ls-files ${lfsFilter} | grep -E '^[0-9a-f]+ - ' || true)" ]`

/**
 * The files are fetched after the checkout, which so far holds their pointers: one connection for all of them, and a
 * filter that fails half-way through a checkout leaves nobody knows what.
 */
const lfsLines = (supply: Supply, submodules: boolean): readonly string[] => {
  const get = supply === 'offline' ? 'git lfs checkout' : 'git lfs pull'
  const missing = 'warmbox_fail "an LFS file was not fetched"'
  const inSubmodule = quoteShell(`${lfsSetup} >/dev/null && ${get} && ${lfsComplete}`)
  return [
    'git lfs version >/dev/null 2>&1 || warmbox_fail "git-lfs is not installed"',
    `${lfsSetup} >/dev/null`,
    get,
    ...(submodules ? [`git submodule --quiet foreach --recursive ${inSubmodule} || ${missing}`] : []),
    `${lfsComplete} || ${missing}`,
  ]
}
