import { expect, test } from 'vitest'
import { refusalHints } from '../../src/runtime/real/refusal-hints.ts'

const host =
  (files: Readonly<Record<string, string>>) =>
  (path: string): string | undefined =>
    files[path]

test.each([
  ['/proc/sys/user/max_user_namespaces', '0\n', 'user.max_user_namespaces=10000'],
  ['/proc/sys/kernel/unprivileged_userns_clone', '0\n', 'kernel.unprivileged_userns_clone=1'],
  ['/proc/sys/kernel/apparmor_restrict_unprivileged_userns', '1\n', 'kernel.apparmor_restrict_unprivileged_userns=0'],
])('%s that forbids namespaces is named with what allows them', (path, content, allow) => {
  const hints = refusalHints(host({ [path]: content }), false)
  expect(hints).toHaveLength(1)
  expect(hints[0]).toContain(`sysctl -w ${allow}`)
})

test('settings that bind other users alone are not held against root', () => {
  const forbidding = host({
    '/proc/sys/kernel/unprivileged_userns_clone': '0\n',
    '/proc/sys/kernel/apparmor_restrict_unprivileged_userns': '1\n',
  })
  expect(refusalHints(forbidding, true)).toEqual([])
})

test('a seccomp filter is named, and a host that allows everything gives no hint', () => {
  expect(refusalHints(host({ '/proc/self/status': 'Name:\tnode\nSeccomp:\t2\n' }), true)[0]).toContain('seccomp')
  const allowing = host({
    '/proc/self/status': 'Seccomp:\t0\n',
    '/proc/sys/user/max_user_namespaces': '96364\n',
    '/proc/sys/kernel/unprivileged_userns_clone': '1\n',
    '/proc/sys/kernel/apparmor_restrict_unprivileged_userns': '0\n',
  })
  expect(refusalHints(allowing, false)).toEqual([])
})
