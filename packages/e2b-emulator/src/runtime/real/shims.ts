/** A command of the base image that stands in for one that cannot work in it. */
export interface Shim {
  readonly name: string
  /** What it does instead, for the support matrix. */
  readonly behaviour: string
  /** `always`, or only where the host has no such command. */
  readonly when: 'always' | 'missing-on-host'
  readonly script: string
}

/** What the scripts have to know of the machine they run in. */
export interface ShimPlace {
  /** Shell text before every absolute path of the machine; empty where its root is theirs. */
  readonly root: string
  /** Assignments that must not get lost where the environment is cleared. */
  readonly kept: string
  /** Whether anyone may do what takes root. */
  readonly anyone: boolean
}

/** Where shims write down what was asked of them. */
export const recordDirectory = '/var/lib/warmbox-emulator'

/** A copy of `setpriv` with the set-user-id bit, owned by the machine's root: what `sudo` becomes root with. */
export const becomeRoot = '/usr/local/libexec/warmbox-emulator/become-root'

const packageManager = (name: string, { root, anyone }: ShimPlace) => `#!/bin/sh
# Records the packages that were asked for and installs nothing.
record="${root}${recordDirectory}"
action= packages= skip=
if ${anyone ? 'false' : '[ "$(id -u)" -ne 0 ]'}; then
  echo 'E: Could not open lock file /var/lib/dpkg/lock-frontend - open (13: Permission denied)' >&2
  echo 'E: Unable to acquire the dpkg frontend lock, are you root?' >&2
  exit 100
fi
mkdir -p "$record"
printf '%s' '${name}' >>"$record/commands.log"
for word; do printf ' %s' "$word" >>"$record/commands.log"; done
printf '\\n' >>"$record/commands.log"
for word; do
  if [ -n "$skip" ]; then skip=; continue; fi
  case $word in
    -o|-t|-c|-a|--option|--target-release|--config-file) skip=1 ;;
    -*) ;;
    *) if [ -z "$action" ]; then action=$word; else packages="$packages \${word%%=*}"; fi ;;
  esac
done
case $action in
  install)
    for package in $packages; do
      grep -qxF -e "$package" "$record/packages" 2>/dev/null || printf '%s\\n' "$package" >>"$record/packages"
      echo "Recorded $package (the emulator installs no packages)"
    done ;;
  remove|purge)
    for package in $packages; do
      grep -vxF -e "$package" "$record/packages" >"$record/packages.new" 2>/dev/null
      mv "$record/packages.new" "$record/packages"
    done ;;
esac
exit 0
`

const dpkgQuery = ({ root }: ShimPlace) => `#!/bin/sh
# Answers "installed" for the packages recorded by apt-get, and knows no others.
record="${root}${recordDirectory}/packages"
format='\${binary:Package}\\t\${Version}\\n'
mode= names=
while [ $# -gt 0 ]; do
  case $1 in
    -W|--show) mode=show ;;
    -s|--status) mode=status ;;
    -l|--list) mode=list ;;
    -f|--showformat) format=$2; shift ;;
    -f=*|--showformat=*) format=\${1#*=} ;;
    -f*) format=\${1#-f} ;;
    -*) ;;
    *) names="$names $1" ;;
  esac
  shift
done
[ -n "$names" ] || [ ! -f "$record" ] || names=$(cat "$record")
result=0
for name in $names; do
  plain=\${name%%:*}
  if ! grep -qxF -e "$plain" "$record" 2>/dev/null; then
    echo "dpkg-query: no packages found matching $name" >&2
    result=1
    continue
  fi
  case $mode in
    status) printf 'Package: %s\\nStatus: install ok installed\\nVersion: 0.0.0-emulated\\n\\n' "$plain" ;;
    list) printf 'ii  %s  0.0.0-emulated  all  recorded by the emulator\\n' "$plain" ;;
    *)
      line=$(printf '%s.' "$format" | sed \\
        -e "s/\\\${\\(binary:\\)\\{0,1\\}Package\\(;[^}]*\\)\\{0,1\\}}/$plain/g" \\
        -e 's/\${Version\\(;[^}]*\\)\\{0,1\\}}/0.0.0-emulated/g' \\
        -e 's/\${Status\\(;[^}]*\\)\\{0,1\\}}/install ok installed/g' \\
        -e 's/\${db:Status-Status\\(;[^}]*\\)\\{0,1\\}}/installed/g' \\
        -e 's/\${db:Status-Abbrev\\(;[^}]*\\)\\{0,1\\}}/ii /g' \\
        -e 's/\${Architecture\\(;[^}]*\\)\\{0,1\\}}/all/g')
      printf '%b' "\${line%.}" ;;
  esac
done
exit $result
`

const sudo = ({ root, kept }: ShimPlace) => `#!/bin/sh
# Any user becomes root without a password, as on the platform's base image.
target=root login= keep=
while [ $# -gt 0 ]; do
  case $1 in
    -u|--user) target=$2; shift ;;
    --user=*) target=\${1#*=} ;;
    -i|--login|-s|--shell) login=1 ;;
    -E|--preserve-env*) keep=1 ;;
    -g|-p|-C|-h) shift ;;
    --) shift; break ;;
    -*) ;;
    *=*) break ;;
    *) break ;;
  esac
  shift
done
home=$(grep "^$target:" "${root}/etc/passwd" | cut -d: -f6)
if [ -z "$home" ]; then echo "sudo: unknown user $target" >&2; exit 1; fi
[ -z "$login" ] || [ $# -gt 0 ] || set -- bash -l
set -- "HOME=${root}$home" "USER=$target" "LOGNAME=$target" "SUDO_USER=$(id -un)" "SUDO_UID=$(id -u)" "SUDO_GID=$(id -g)" "$@"
if [ -n "$keep" ]; then set -- env "$@"
else
  set -- env -i ${kept}PATH=${root === '' ? '' : `"${root}/usr/local/bin":`}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "TERM=\${TERM:-unknown}" "$@"
fi
[ -x ${becomeRoot} ] || exec "$@"
exec ${becomeRoot} --reuid "$target" --regid "$(id -g "$target")" --init-groups -- "$@"
`

const corepack = `#!/bin/sh
# Records what was asked; package managers are those the base image has.
mkdir -p "\${HOME:-/tmp}/.cache/warmbox-emulator"
echo "corepack $*" >>"\${HOME:-/tmp}/.cache/warmbox-emulator/corepack.log"
exit 0
`

const useradd = ({ root }: ShimPlace) => `#!/bin/sh
# The common forms of useradd: an entry, a group of the same number and a home directory.
home= shell=/bin/bash user= id=
while [ $# -gt 0 ]; do
  case $1 in
    -d|--home-dir) home=$2; shift ;;
    -s|--shell) shell=$2; shift ;;
    -u|--uid) id=$2; shift ;;
    -c|-g|-G|-p|-k|-b|-e|-f|-K) shift ;;
    -*) ;;
    *) user=$1 ;;
  esac
  shift
done
[ -n "$user" ] || exit 2
if grep -q "^$user:" "${root}/etc/passwd"; then echo "useradd: user '$user' already exists" >&2; exit 9; fi
[ -n "$id" ] || id=$(awk -F: '$3 >= 1000 && $3 < 60000 && $3 > top { top = $3 } END { print (top ? top : 999) + 1 }' "${root}/etc/passwd")
[ -n "$home" ] || home=/home/$user
echo "$user:x:$id:$id::$home:$shell" >>"${root}/etc/passwd"
grep -q "^$user:" "${root}/etc/group" || echo "$user:x:$id:" >>"${root}/etc/group"
mkdir -p "${root}$home"
cp -R "${root}/etc/skel/." "${root}$home"
chown -R "$id:$id" "${root}$home" 2>/dev/null || true
`

/** Every stand-in of the base image; the documentation is made from this table. */
export const shimsFor = (place: ShimPlace): readonly Shim[] => [
  {
    name: 'apt-get',
    behaviour: `records requested packages in ${recordDirectory}/packages; installs nothing`,
    when: 'always',
    script: packageManager('apt-get', place),
  },
  { name: 'apt', behaviour: 'as apt-get', when: 'always', script: packageManager('apt', place) },
  {
    name: 'dpkg-query',
    behaviour: 'answers "install ok installed" for recorded packages, "no packages found" for all others',
    when: 'always',
    script: dpkgQuery(place),
  },
  { name: 'sudo', behaviour: 'becomes root (or -u user) without a password', when: 'always', script: sudo(place) },
  { name: 'corepack', behaviour: 'records the call and succeeds', when: 'missing-on-host', script: corepack },
  {
    name: 'useradd',
    behaviour: 'adds the entry, the group and the home directory',
    when: 'missing-on-host',
    script: useradd(place),
  },
]

/** Inside its namespaces a machine's paths are its own. */
export const confinedShims = shimsFor({ root: '', kept: '', anyone: false })
