import type { E2BSandbox } from '@warmbox/sandbox'

/** The forms in which a git credential travels. */
export const needlesOf = (token: string): readonly string[] => {
  const presented = `x-access-token:${token}`
  return [token, base64(token), presented, base64(presented)]
}

const base64 = (text: string): string => Buffer.from(text).toString('base64').replace(/=+$/, '')

/**
 * Counts the files and process environments of a sandbox that hold one of the needles.
 *
 * The needles arrive on stdin and wait in shared memory, which is not part of the file system searched. A file the
 * image inherits from before `since` cannot hold a credential minted later, so those are passed over; the time is that
 * of the inode's last change, which no tool can set back.
 */
export async function countFilesWithNeedles(
  sandbox: E2BSandbox,
  needles: readonly string[],
  since: Date,
): Promise<number> {
  const process = await sandbox.processes.spawn(searchScript(since), { stdinMode: 'pipe' })
  await process.sendStdin(`${needles.join('\n')}\n`)
  await process.closeStdin()
  const { exitCode, stdout, stderr } = await process.wait()
  if (exitCode !== 0) throw new Error(`The search of the sandbox ended with ${exitCode}: ${stderr}`)
  const [searched, ...found] = stdout.trim().split('\n')
  if (!/^searched [1-9]/.test(searched ?? '')) throw new Error(`The search of the sandbox looked at nothing: ${stdout}`)
  return found.length
}

/** Root sees every file; the environment of a process is seen by its own user alone, so both look there. */
const searchScript = (since: Date): string => String.raw`set -euo pipefail
needles=$(mktemp -p /dev/shm)
trap 'rm -f "$needles"' EXIT
cat >"$needles"
files() {
  local list
  list=$(mktemp -p /dev/shm)
  find / -xdev \( -path /proc -o -path /sys -o -path /dev \) -prune -o -type f -newerct @${Math.floor(since.getTime() / 1000)} -print0 >"$list"
  echo "searched $(tr -cd '\0' <"$list" | wc -c)"
  { xargs -0 -r grep -laF -f "$1" <"$list" 2>/dev/null || true; }
  rm -f "$list"
}
environments() {
  { find /proc -maxdepth 2 -name environ -print0 2>/dev/null || true; } | { xargs -0 -r grep -laF -f "$1" 2>/dev/null || true; }
}
sudo bash -c "$(declare -f files); files $needles"
{ environments "$needles"; sudo bash -c "$(declare -f environments); environments $needles"; } | sort -u
`
