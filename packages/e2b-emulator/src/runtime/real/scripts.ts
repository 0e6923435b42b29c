import { stage } from './mount-plan.ts'

/**
 * Capabilities root keeps inside. None of them reaches beyond the user namespace anyway; without `sys_admin` a command
 * cannot undo or add mounts either, and without `mknod` and the network ones nothing is lost that would have worked.
 */
const keptCapabilities = [
  'chown',
  'dac_override',
  'dac_read_search',
  'fowner',
  'fsetid',
  'kill',
  'setgid',
  'setuid',
  'setpcap',
  'net_bind_service',
  'sys_chroot',
  // Of processes in the machine alone: no other is visible. The program inside needs it to see whose sockets listen.
  'sys_ptrace',
  'setfcap',
]

/** Gives a program the namespaces of a machine, inside the user namespace; it dies with this one. */
export const unshareMachine: readonly string[] = [
  'unshare',
  '--mount',
  '--pid',
  '--ipc',
  '--uts',
  '--fork',
  '--kill-child=SIGKILL',
  '--',
]

/** Descriptors of a machine's first process: the host's channel, the Node binary and the order to take up a root. */
export const channelFd = 4
export const nodeFd = 5
export const orderFd = 6

/**
 * The first process of a machine. It forks one that waits for the order to put a root together, gives up the power to
 * do so itself, and becomes init around the program inside; `pivot_root` moves all three over to the new root.
 *
 * bash, because it closes descriptors above 9; init stays a shell, because a shell reaps orphans and Node does not. The
 * order is two lines, the machine's directory (which holds its fstab, and commands that come before) and its hostname. `init` says that it may come (no
 * program of the image is run to get there), `mounted` that it was carried out.
 */
export const machineScript = `
set -eu
umask 022
for path in /proc/self/fd/*; do
  fd=\${path##*/}
  case $fd in 0|1|2|${channelFd}|${nodeFd}|${orderFd}) ;; *) exec {fd}>&- ;; esac
done
{
  exec ${channelFd}>&- ${nodeFd}<&-
  read -r -u ${orderFd} directory && read -r -u ${orderFd} hostname || exit 0
  if command -v hostname >/dev/null; then hostname "$hostname" & fi
  if [ -r "$directory/before" ]; then . "$directory/before"; fi
  mount --all --fstab "$directory/fstab"
  wait
  cd ${stage}
  pivot_root . .
  umount -l .
  cd /
  printf '%s\\n' "$hostname" >/etc/hostname
  echo mounted
} &
cd /
# With an environment of its own: this one tells where the host keeps the machine.
exec env -i PATH="$PATH" setpriv --inh-caps -all --bounding-set ${['-all', ...keptCapabilities.map((name) => `+${name}`)].join(',')} \\
  bash --norc -c 'echo init; exec >/dev/null; (exec -a warmbox-machine /proc/self/fd/${nodeFd} --input-type=commonjs -); exit $?' \\
  ${orderFd}<&-
`

/** Mounts an image and copies what it shows. Arguments: a directory to copy to, the fstab. */
export const inspectScript = `
set -eu -o pipefail
umask 022
mkdir -p "$1"
printf '%s\\n' "$2" >"$1.fstab"
mount --all --fstab "$1.fstab"
rm "$1.fstab"
# A directory that no two layers share lists its whiteouts too.
(cd ${stage} && find . -print0) | while IFS= read -r -d '' path; do
  if [ -e "${stage}/$path" ] || [ -L "${stage}/$path" ]; then printf '%s\\0' "$path"; fi
done | tar -C ${stage} --null --no-recursion -T - -cf - | tar -C "$1" --numeric-owner -xpf -
chmod -R u+rwX "$1"
`

/**
 * Makes one layer of several. Whatever one of them has is copied as all of them show it; where they hide something of
 * what lies below them, the new layer hides it by a whiteout of the same name. (A mount of these layers alone would list
 * their whiteouts as files.) Arguments: the new layer, the names of the layers, then three for each tree: its name and
 * the lower directories of everything and of what lies below the layers.
 */
export const flattenScript = `
set -eu -o pipefail
umask 022
shopt -s dotglob nullglob
exists() { [ -e "$1" ] || [ -L "$1" ]; }
attributes=(--numeric-owner --xattrs --xattrs-include='user.*')
target=$1 layers=$2; shift 2
mkdir "$target"
mount -t tmpfs tmpfs ${stage}
mkdir ${stage}/all ${stage}/below
while [ $# -gt 0 ]; do
  key=$1
  mount -t overlay overlay -o "userxattr,lowerdir=$2" ${stage}/all
  mount -t overlay overlay -o "userxattr,lowerdir=$3" ${stage}/below
  shift 3
  for layer in $layers; do (cd "$layer/$key" && find . -print0); done | sort -zu | while IFS= read -r -d '' path; do
    if exists "${stage}/all/$path"; then printf '%s\\0' "$path"; fi
  done >${stage}/paths
  mkdir "$target/$key"
  tar -C ${stage}/all --null --no-recursion -T ${stage}/paths "\${attributes[@]}" -cf - |
    tar -C "$target/$key" "\${attributes[@]}" -xpf -
  while IFS= read -r -d '' path; do
    new=$target/$key/$path
    below=${stage}/below/$path
    if [ ! -d "$new" ] || [ -L "$new" ] || [ ! -d "$below" ] || [ -L "$below" ]; then continue; fi
    for hidden in "$below"/*; do
      name=\${hidden##*/}
      exists "${stage}/all/$path/$name" || mknod "$new/$name" c 0 0
    done
  done <${stage}/paths
  umount ${stage}/all ${stage}/below
done
`

/**
 * Copies what a machine in memory holds; only its own mount namespace shows that. Arguments: its root by way of `/proc`, the
 * new layer, the base layer, then the names of what is mounted at the top.
 */
export const copyFromMemoryScript = `
set -eu
shopt -s dotglob nullglob
root=$1 layer=$2 base=$3; shift 3
mkdir -p "$layer/r"
cp -a -T "$root/usr/local" "$layer/l"
for name; do cp -a "$base/r/$name" "$layer/r/"; done
is_mounted() { local name=$1; shift; for mounted; do [ "$mounted" != "$name" ] || return 0; done; return 1; }
for path in "$root"/*; do
  is_mounted "\${path##*/}" "$@" || cp -a "$path" "$layer/r/"
done
`

/** Tries everything a machine needs but the program inside. Arguments: a directory, the fstab. */
export const probeScript = `
set -eu
mkdir -p "$1/r/u" "$1/r/w" "$1/base/proc" "$1/memory" empty
printf '%s\\n' "$2" >"$1/fstab"
mount --all --fstab "$1/fstab"
cd ${stage}
pivot_root . .
`
