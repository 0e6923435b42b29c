import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const execute = promisify(execFile)

export interface GitOptions {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string
  readonly signal?: AbortSignal | undefined
}

/** Runs git on the host, without prompts and without the user's own configuration deciding anything; answers stdout, trimmed. */
export async function git(args: readonly string[], { cwd, env = {}, input, signal }: GitOptions): Promise<string> {
  const running = execute('git', [...args], {
    cwd,
    env: { ...process.env, GIT_TERMINAL_PROMPT: '0', GIT_CONFIG_GLOBAL: '/dev/null', ...env },
    maxBuffer: 16 * 1024 * 1024,
    ...(signal === undefined ? {} : { signal }),
  })
  if (input !== undefined) running.child.stdin?.end(input)
  const { stdout } = await running
  return stdout.trim()
}

/** Environment that presents `token` to the origin of `url` alone, so that it never stands in an argument list. */
export const tokenEnvironment = (url: string, token: string | undefined): Record<string, string> =>
  token === undefined
    ? {}
    : {
        GIT_CONFIG_COUNT: '2',
        GIT_CONFIG_KEY_0: `http.${new URL(url).origin}/.extraheader`,
        GIT_CONFIG_VALUE_0: `Authorization: Basic ${Buffer.from(`x-access-token:${token}`).toString('base64')}`,
        GIT_CONFIG_KEY_1: 'http.followRedirects',
        GIT_CONFIG_VALUE_1: 'false',
      }
