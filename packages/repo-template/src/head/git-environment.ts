/** Variables of the host that git needs to run and to reach the network. All others stay out. */
const inherited = [
  'PATH',
  'SYSTEMROOT',
  'TEMP',
  'TMP',
  'TMPDIR',
  'LD_LIBRARY_PATH',
  'GIT_EXEC_PATH',
  'GIT_SSL_CAINFO',
  'GIT_SSL_CAPATH',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  ...['http_proxy', 'https_proxy', 'all_proxy', 'no_proxy'].flatMap((name) => [name, name.toUpperCase()]),
] as const

/**
 * Settings for git, as the numbered variables git reads them from: unlike `-c` they are in no argument list, which any
 * process of the machine can read, and in no error that quotes one.
 */
export const gitConfigVariables = (
  settings: readonly (readonly [key: string, value: string])[],
): Record<string, string> => ({
  GIT_CONFIG_COUNT: String(settings.length),
  ...Object.fromEntries(
    settings.flatMap(([key, value], index) => [
      [`GIT_CONFIG_KEY_${index}`, key],
      [`GIT_CONFIG_VALUE_${index}`, value],
    ]),
  ),
})

/**
 * Settings under which git asks nobody and tells nobody: no helper, prompt or hook takes part, and a redirect ends the
 * command, because the header would follow it (git sends even a scoped `extraheader` to where a redirect leads).
 */
export const hermeticSettings: readonly (readonly [key: string, value: string])[] = Object.freeze([
  ['credential.helper', ''],
  ['core.askPass', ''],
  ['core.hooksPath', '/dev/null'],
  // A program that a repository's own settings name would be run with the credential.
  ['core.fsmonitor', 'false'],
  // Those of a user, as setup commands may write, would change what a checkout holds, and what of it is ignored.
  ['core.attributesFile', '/dev/null'],
  ['core.excludesFile', '/dev/null'],
  ['http.followRedirects', 'false'],
  // A host that stops answering ends the command: git by itself waits for ever. A pack in the making is kept alive by
  // a few bytes every five seconds.
  ['http.lowSpeedLimit', '1'],
  ['http.lowSpeedTime', '120'],
  // Tidying up after a fetch would go on in the background, in an image as well.
  ['maintenance.auto', 'false'],
  // git-lfs knows nothing of GIT_ALLOW_PROTOCOL, and a repository names its endpoint: no directory of this machine
  // (its transfer of local files then ends at once), and nothing unencrypted.
  ['lfs.customtransfer.lfs-standalone-file.path', 'false'],
  ['url.https://.insteadOf', 'http://'],
] as const)

/** The variables that go with {@link hermeticSettings}. An empty askpass is none; unset, a desktop's would be asked. */
export const hermeticVariables: Readonly<Record<string, string>> = Object.freeze({
  GIT_TERMINAL_PROMPT: '0',
  GIT_ASKPASS: '',
  SSH_ASKPASS: '',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_ALLOW_PROTOCOL: 'https',
  // For git-lfs again, which would present this user's keys to whatever host a repository names.
  GIT_SSH_COMMAND: 'false',
})

/** The whole environment of a git process of this host. */
export const hostGitEnvironment = (
  environment: Readonly<Record<string, string | undefined>>,
  settings: readonly (readonly [key: string, value: string])[],
): Record<string, string> => ({
  ...Object.fromEntries(
    inherited.flatMap((name) => {
      const value = environment[name]
      return value === undefined ? [] : [[name, value]]
    }),
  ),
  ...hermeticVariables,
  // curl, which git uses, would look for a .netrc in the home.
  HOME: '/dev/null',
  LC_ALL: 'C',
  ...gitConfigVariables([...hermeticSettings, ...settings]),
})
