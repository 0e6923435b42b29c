import type { TemplateBuilder } from 'e2b'
import { quoteShell } from './shell.ts'

/**
 * A RUN step's command has no error handling of its own: E2B runs it as `bash -l -c`. The build log shows it by its
 * first line, which says what it is for.
 */
const script = (purpose: string, ...lines: readonly string[]): string =>
  [`# ${purpose}`, 'set -eu', ...lines].join('\n')

const installPackages = (packages: readonly string[]): string =>
  script(
    `system packages: ${packages.join(' ')}`,
    "missing=''",
    `for package in ${packages.map(quoteShell).join(' ')}; do`,
    `  [ "$(dpkg-query -W -f='\${Status}' "$package" 2>/dev/null || true)" = 'install ok installed' ] || missing="$missing $package"`,
    'done',
    'if [ -n "$missing" ]; then',
    '  export DEBIAN_FRONTEND=noninteractive',
    '  apt-get update',
    '  apt-get install -y --no-install-recommends $missing',
    '  rm -rf /var/lib/apt/lists/*',
    'fi',
  )

/**
 * Unpacks the official build of Node over the image's own, after its checksum matched the list published with it.
 * npm and corepack of the image are removed first: two versions in one directory would mix.
 */
const installNode = (version: string): string =>
  script(
    `Node.js ${version}`,
    `version=${quoteShell(version)}`,
    'if [ "$(node --version 2>/dev/null || true)" != "v$version" ]; then',
    '  case "$(uname -m)" in',
    '    x86_64) architecture=x64 ;;',
    '    aarch64 | arm64) architecture=arm64 ;;',
    '    *) echo "no Node.js build for $(uname -m)" >&2; exit 1 ;;',
    '  esac',
    '  name="node-v$version-linux-$architecture"',
    '  directory="$(mktemp -d)"',
    `  trap 'rm -rf "$directory"' EXIT`,
    '  cd "$directory"',
    '  for file in SHASUMS256.txt "$name.tar.gz"; do',
    `    curl --proto '=https' --tlsv1.2 --fail --silent --show-error --location --retry 3 \\`,
    '      --output "$file" "https://nodejs.org/dist/v$version/$file"',
    '  done',
    `  awk -v file="$name.tar.gz" '$2 == file' SHASUMS256.txt > wanted`,
    '  [ -s wanted ] || { echo "no checksum is published for $name.tar.gz" >&2; exit 1; }',
    '  sha256sum --check --strict wanted',
    '  rm -rf /usr/local/lib/node_modules/npm /usr/local/lib/node_modules/corepack',
    '  tar -xzf "$name.tar.gz" -C /usr/local --strip-components=1 --no-same-owner \\',
    '    --exclude="$name/CHANGELOG.md" --exclude="$name/README.md" --exclude="$name/LICENSE"',
    '  hash -r',
    '  [ "$(node --version)" = "v$version" ] || { echo "another node comes first on PATH: $(command -v node)" >&2; exit 1; }',
    'fi',
  )

/** Node 25 and later come without corepack. A prompt before a download would wait for an answer for ever. */
const enableCorepack = script(
  'package managers by corepack',
  'if ! command -v pnpm >/dev/null 2>&1 || ! command -v yarn >/dev/null 2>&1; then',
  '  command -v corepack >/dev/null 2>&1 || npm install --global corepack',
  '  corepack enable',
  '  echo "export COREPACK_ENABLE_DOWNLOAD_PROMPT=0" > /etc/profile.d/corepack.sh',
  'fi',
)

/** Appends the three steps; each does nothing where its result is there already. They run as root. */
export function appendMountableSteps(
  base: TemplateBuilder,
  contents: { readonly aptPackages: readonly string[]; readonly nodeVersion: string },
): TemplateBuilder {
  const root = { user: 'root' }
  return base
    .runCmd(installPackages(contents.aptPackages), root)
    .runCmd(installNode(contents.nodeVersion), root)
    .runCmd(enableCorepack, root)
}
