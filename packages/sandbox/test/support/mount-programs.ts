import type { E2BSandbox } from '@warmbox/sandbox'

/** Directory in the sandbox where the stand-ins write down what they were asked. */
const BOOK = '/var/stand-in'

/**
 * Stand-ins for the programs that mount: a mount is a line in a book, which `mountpoint` and `umount` read. No kernel
 * takes part. What the bucket is called decides how it goes: `broken` fails and prints the credentials, `silent` ends
 * well and mounts nothing.
 */
const MOUNT_PROGRAM = `#!/bin/bash
program=$(basename "$0")
exec 8>"${BOOK}/lock"; flock 8
printf '%s\\0' "$program" "$@" >>"${BOOK}/commands"; printf '\\n' >>"${BOOK}/commands"
for word in "$@"; do
  case $word in passwd_file=*|--key-file=*|--config-file=*)
    file=\${word#*=}
    stat -c '%a %U %n' "$file" >>"${BOOK}/credentials"; cat "$file" >>"${BOOK}/credentials"; echo >>"${BOOK}/credentials";;
  esac
done
case $program in
  s3fs) bucket=$1 path=$2;;
  gcsfuse) path=\${!#}; bucket=\${@: -2:1};;
  blobfuse2) path=$2; bucket=$(cat "$file");;
esac
case $bucket in
  *broken*) echo "access denied: $(cat "$file")" >&2; exit 7;;
  *silent*) exit 0;;
esac
printf '%s\\n' "$path" >>"${BOOK}/mounts"
`

const MOUNTPOINT = `#!/bin/bash
grep -qxF -- "\${!#}" "${BOOK}/mounts"
`

const UMOUNT = `#!/bin/bash
exec 8>"${BOOK}/lock"; flock 8
grep -vxF -- "\${!#}" "${BOOK}/mounts" >"${BOOK}/mounts.new"; mv "${BOOK}/mounts.new" "${BOOK}/mounts"
`

/** Installs what it is asked for: a name after `install` becomes a program. */
const APT_GET = `#!/bin/bash
echo "$*" >>"${BOOK}/installed"
case "$*" in *" s3fs") cp /usr/local/share/mount-program /usr/local/bin/s3fs;; esac
`

export async function installStandIns(
  sandbox: E2BSandbox,
  { programs }: { readonly programs: readonly string[] },
): Promise<void> {
  await sandbox.start()
  const files: [path: string, content: string][] = [
    ['/usr/local/share/mount-program', MOUNT_PROGRAM],
    ['/usr/local/bin/mountpoint', MOUNTPOINT],
    ['/usr/local/bin/umount', UMOUNT],
    ['/usr/local/bin/apt-get', APT_GET],
    [`${BOOK}/mounts`, ''],
    ...programs.map((name): [string, string] => [`/usr/local/bin/${name}`, MOUNT_PROGRAM]),
  ]
  for (const [path, content] of files) await sandbox.e2b.files.write(path, content, { user: 'root' })
  await asRoot(sandbox, `chmod 755 ${files.map(([path]) => path).join(' ')}`)
}

export async function asRoot(sandbox: E2BSandbox, command: string): Promise<string> {
  return (await sandbox.e2b.commands.run(command, { user: 'root' })).stdout
}

/** The words of every mount command so far. */
export async function mountCommands(sandbox: E2BSandbox): Promise<readonly (readonly string[])[]> {
  const book = await asRoot(sandbox, `cat ${BOOK}/commands 2>/dev/null | base64 -w 0`)
  return Buffer.from(book, 'base64')
    .toString()
    .split('\0\n')
    .filter((command) => command !== '')
    .map((command) => command.split('\0'))
}

export const mounted = async (sandbox: E2BSandbox): Promise<readonly string[]> =>
  (await asRoot(sandbox, `cat ${BOOK}/mounts`)).split('\n').filter((path) => path !== '')

/** Mode, owner, name and content of each credentials file a program was given. */
export const credentialsSeen = (sandbox: E2BSandbox): Promise<string> =>
  asRoot(sandbox, `cat ${BOOK}/credentials 2>/dev/null || true`)

export const installed = (sandbox: E2BSandbox): Promise<string> =>
  asRoot(sandbox, `cat ${BOOK}/installed 2>/dev/null || true`)

/** What our mounts keep in the sandbox at present. */
export const kept = async (sandbox: E2BSandbox): Promise<readonly string[]> =>
  (await asRoot(sandbox, 'ls /var/lib/warmbox/mounts 2>/dev/null || true')).split('\n').filter((name) => name !== '')
