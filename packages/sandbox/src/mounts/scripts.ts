import { quoteShell } from '@warmbox/resolution'
import type { MountPlan, MountSite } from './plan.ts'

/** Of root alone: markers, credentials, logs and caches of our mounts. */
export const MOUNTS_DIRECTORY = '/var/lib/warmbox/mounts'

/** What a script ends with where it, and no program it ran, found something wrong. */
export const SCRIPT_EXIT = { notMounted: 90, stillMounted: 91, unreadable: 92 } as const

const words = (values: readonly string[]): string => values.map(quoteShell).join(' ')

/** Tells what is at a mount path, and whether the program is there; each answer is a line `name=value`. */
export function inspectScript(mountPath: string, program: string, markerFile: string): string {
  const at = quoteShell(mountPath)
  return [
    `install -d -m 700 ${quoteShell(MOUNTS_DIRECTORY)} || exit 1`,
    `if mountpoint -q ${at}; then echo mounted=yes; fi`,
    `if [ -d ${at} ]; then echo exists=yes; [ -z "$(ls -A ${at} 2>/dev/null | head -n 1)" ] || echo empty=no; fi`,
    `if command -v ${quoteShell(program)} >/dev/null; then echo program=yes; fi`,
    `if [ -f ${quoteShell(markerFile)} ]; then printf 'marker=%s\\n' "$(cat ${quoteShell(markerFile)})"; fi`,
  ].join('\n')
}

/** Two mounts may need the same program at once; the second finds it installed when the lock is free. */
export const installScript = ({ installation, program }: MountPlan): string =>
  `exec 9>${quoteShell(`${MOUNTS_DIRECTORY}/install.lock`)} && flock 9 && ` +
  `{ command -v ${quoteShell(program)} >/dev/null || { ${installation}; }; }`

/** Makes the file of the credentials before they arrive, so that nobody but root can read them for a moment. */
export const reserveScript = (file: string): string =>
  `rm -f ${quoteShell(file)} && (umask 077 && : > ${quoteShell(file)})`

/** Mounts, and succeeds only where the path is a mount point that answers. */
export function mountScript(plan: MountPlan, site: MountSite): string {
  const at = quoteShell(site.mountPath)
  return [
    'set -u',
    ...(plan.credentials === undefined ? [] : [`chmod 600 ${quoteShell(site.credentialsFile)} || exit 1`]),
    `mkdir -p ${at} ${quoteShell(site.cacheDirectory)} && chmod 700 ${quoteShell(site.cacheDirectory)} || exit 1`,
    // A daemon must not keep the pipes of this script open.
    `${words(plan.command(site))} </dev/null >>${quoteShell(site.logFile)} 2>&1 || exit $?`,
    'gone=0',
    'for _ in $(seq 100); do',
    `  if mountpoint -q ${at}; then`,
    // Wrong credentials often show at the first look only.
    `    timeout 30 ls ${at} >/dev/null 2>>${quoteShell(site.logFile)} || exit ${SCRIPT_EXIT.unreadable}`,
    `    mountpoint -q ${at} && exit 0`,
    '  fi',
    // Programs refused by the service end on their own, some after they have gone into the background. The path comes
    // by stdin, since the search would find itself by its arguments.
    `  if grep -qszxF -f - /proc/[0-9]*/cmdline <<<${at}; then gone=0; else gone=$((gone + 1)); fi`,
    '  [ "$gone" -lt 10 ] || break',
    '  sleep 0.1',
    'done',
    `exit ${SCRIPT_EXIT.notMounted}`,
  ].join('\n')
}

/** The end of what the program said. */
export const logScript = (logFile: string): string => `tail -c 2000 ${quoteShell(logFile)} 2>/dev/null || true`

/** Unmounts, gently first, and removes everything the mount left; the mount path too where the mount had made it. */
export function unmountScript(
  site: Pick<MountSite, 'mountPath' | 'cacheDirectory'>,
  files: readonly string[],
  madeDirectory: boolean,
): string {
  const at = quoteShell(site.mountPath)
  return [
    `if mountpoint -q ${at}; then`,
    `  fusermount3 -u ${at} 2>/dev/null || fusermount -u ${at} 2>/dev/null || umount ${at} 2>/dev/null || umount -l ${at} 2>/dev/null`,
    `  mountpoint -q ${at} && exit ${SCRIPT_EXIT.stillMounted}`,
    'fi',
    `rm -rf ${words([...files, site.cacheDirectory])}`,
    // Something may have been put there meanwhile; then it stays.
    ...(madeDirectory ? [`rmdir ${at} 2>/dev/null`] : []),
    'exit 0',
  ].join('\n')
}

/** Prints every marker there is, one a line. */
export const markersScript = (): string =>
  `for marker in ${quoteShell(MOUNTS_DIRECTORY)}/*.json; do [ -f "$marker" ] && { cat "$marker"; echo; }; done; exit 0`
