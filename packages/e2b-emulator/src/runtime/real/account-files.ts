/** The base image's own configuration, where the host's would be wrong or must not be shown. */

/** `id`: of the default user; that of root where the host maps only one (see user-namespace.ts). */
export function accountFiles(id: number): Readonly<Record<string, string>> {
  return {
    passwd: [
      'root:x:0:0:root:/root:/bin/bash',
      'daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin',
      'bin:x:2:2:bin:/bin:/usr/sbin/nologin',
      'sys:x:3:3:sys:/dev:/usr/sbin/nologin',
      'mail:x:8:8:mail:/var/mail:/usr/sbin/nologin',
      'www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin',
      'nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin',
      `user:x:${id}:${id}::/home/user:/bin/bash`,
      '',
    ].join('\n'),
    group: [
      'root:x:0:',
      'daemon:x:1:',
      'bin:x:2:',
      'sys:x:3:',
      'adm:x:4:',
      'tty:x:5:',
      'disk:x:6:',
      'mail:x:8:',
      'sudo:x:27:user',
      'www-data:x:33:',
      'shadow:x:42:',
      'staff:x:50:',
      'users:x:100:',
      'nogroup:x:65534:',
      `user:x:${id}:`,
      '',
    ].join('\n'),
    shadow: ['root:*:20000:0:99999:7:::', 'nobody:*:20000:0:99999:7:::', 'user:*:20000:0:99999:7:::', ''].join('\n'),
    gshadow: ['root:*::', 'sudo:*::user', 'nogroup:*::', 'user:!::', ''].join('\n'),
    'nsswitch.conf': ['passwd: files', 'group: files', 'shadow: files', 'hosts: files dns', ''].join('\n'),
    profile: [
      '# A login shell starts from the standard PATH, whatever it was given (as Debian does).',
      'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      'export PATH',
      'for file in /etc/profile.d/*.sh; do',
      '  if [ -r "$file" ]; then . "$file"; fi',
      'done',
      'unset file',
      '',
    ].join('\n'),
    'bash.bashrc': '[ -z "$PS1" ] || PS1=\'\\u@\\h:\\w\\$ \'\n',
  }
}

/** `/etc/skel`, and with it the home directories. */
export const homeFiles: Readonly<Record<string, string>> = {
  '.profile': [
    'for directory in "$HOME/bin" "$HOME/.local/bin"; do',
    '  if [ -d "$directory" ]; then PATH="$directory:$PATH"; fi',
    'done',
    'unset directory',
    '',
  ].join('\n'),
  '.bashrc': "case $- in *i*) PS1='\\u@\\h:\\w\\$ ' ;; esac\n",
}

/**
 * What the base image takes over from the host's `/etc`: how programs find their libraries, alternatives, time zone and
 * names. Nothing that could hold a secret or name a person.
 */
export const hostFiles: readonly string[] = [
  'alternatives',
  'debian_version',
  'default/useradd',
  'inputrc',
  'ld.so.cache',
  'ld.so.conf',
  'ld.so.conf.d',
  'locale.alias',
  'localtime',
  'login.defs',
  'lsb-release',
  'mime.types',
  'os-release',
  'pam.conf',
  'pam.d',
  'protocols',
  'rpc',
  'security',
  'services',
  'ssl/openssl.cnf',
  'timezone',
]
