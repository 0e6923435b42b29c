/** What a setting of the host must hold for namespaces to be allowed, and how to say so. */
interface HostSetting {
  readonly path: string
  readonly name: string
  /** Whether this content forbids. */
  readonly forbids: (content: string) => boolean
  readonly allow: string
  /** Does not bind root. */
  readonly unprivilegedOnly: boolean
}

const settings: readonly HostSetting[] = [
  {
    path: '/proc/sys/user/max_user_namespaces',
    name: 'user.max_user_namespaces',
    forbids: (content) => content === '0',
    allow: 'sysctl -w user.max_user_namespaces=10000',
    unprivilegedOnly: false,
  },
  {
    path: '/proc/sys/kernel/unprivileged_userns_clone',
    name: 'kernel.unprivileged_userns_clone',
    forbids: (content) => content === '0',
    allow: 'sysctl -w kernel.unprivileged_userns_clone=1',
    unprivilegedOnly: true,
  },
  {
    path: '/proc/sys/kernel/apparmor_restrict_unprivileged_userns',
    name: 'kernel.apparmor_restrict_unprivileged_userns',
    forbids: (content) => content !== '0',
    allow: 'sysctl -w kernel.apparmor_restrict_unprivileged_userns=0',
    unprivilegedOnly: true,
  },
]

/**
 * What on this host may be why namespaces were refused, each with how to allow them; empty where nothing is known.
 * `read` answers the text of a file, undefined where there is none.
 */
export function refusalHints(read: (path: string) => string | undefined, isRoot: boolean): readonly string[] {
  const hints = settings
    .filter(({ unprivilegedOnly }) => !(unprivilegedOnly && isRoot))
    .filter(({ path, forbids }) => {
      const content = read(path)?.trim()
      return content !== undefined && forbids(content)
    })
    .map(({ name, allow }) => `${name} forbids them; as root: ${allow}`)
  const filtered = /^Seccomp:\s*2$/m.test(read('/proc/self/status') ?? '')
  return filtered
    ? [
        ...hints,
        'this process runs under a seccomp filter, as in a container: start it with --security-opt seccomp=unconfined',
      ]
    : hints
}
