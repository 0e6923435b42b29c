import type { ChildProcessByStdio } from 'node:child_process'
import type { Readable } from 'node:stream'
import { originScope } from '../credential.ts'
import { systemCertificates } from './certificates.ts'
import { hostGitEnvironment } from './git-environment.ts'
import { outcomeOfStatus } from './http-status.ts'
import { type Lookup, type LookupAnswer, refMissing } from './lookup.ts'

const longestOutput = 1024 * 1024
const responseStatus = /<= Recv header: HTTP\/[\d.]+ (\d{3})\b/g

/**
 * Asks with `git ls-remote`, for what one request cannot do: a proxy the runtime does not know, a server that only
 * speaks the dumb protocol, an unusual answer. Which kind of failure it was is read from the statuses in git's protocol
 * trace, never from its messages.
 */
export const lookupWithGit = async (lookup: Lookup): Promise<LookupAnswer> => {
  const [{ mkdtemp, rm, writeFile }, { tmpdir }, path] = await Promise.all([
    import('node:fs/promises'),
    import('node:os'),
    import('node:path'),
  ])
  // A directory outside of every repository: the configuration of one would take part.
  const directory = await mkdtemp(path.join(tmpdir(), 'warmbox-head-'))
  try {
    const environment = hostGitEnvironment(lookup.environment, [
      ['protocol.version', '0'],
      ...(lookup.credential === undefined
        ? []
        : [[originScope(lookup.clone.origin), `Authorization: Basic ${lookup.credential}`] as const]),
    ])
    environment['GIT_CEILING_DIRECTORIES'] = directory
    environment['GIT_TRACE_CURL'] = '1'
    environment['GIT_TRACE_CURL_NO_DATA'] = '1'
    if (lookup.certificates.length > 0) {
      // git trusts the file it is given and nothing else.
      const bundle = path.join(directory, 'authorities.pem')
      await writeFile(bundle, [...(await systemCertificates()), ...lookup.certificates].join('\n'), { mode: 0o600 })
      environment['GIT_SSL_CAINFO'] = bundle
    }
    const patterns = lookup.ref.startsWith('refs/tags/') ? [lookup.ref, `${lookup.ref}^{}`] : [lookup.ref]
    const result = await run(['ls-remote', lookup.clone.cloneUrl, ...patterns], {
      cwd: directory,
      env: environment,
      signal: lookup.signal,
    })
    if (result.kind === 'missing') return { status: 'unsupported', reason: 'git is not installed', answered: false }
    if (result.exitCode !== 0) {
      if (result.lastStatus !== undefined) return outcomeOfStatus(result.lastStatus)
      return { status: 'unreachable', reason: `git ended with exit code ${result.exitCode}` }
    }
    const refs = new Map(
      result.output.split('\n').map((line) => [line.slice(line.indexOf('\t') + 1), line.split('\t', 1)[0]]),
    )
    const sha = refs.get(`${lookup.ref}^{}`) ?? refs.get(lookup.ref)
    return sha === undefined ? refMissing(lookup.ref) : { status: 'found', sha, cloneUrl: lookup.clone.cloneUrl }
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

type Outcome =
  | { readonly kind: 'missing' }
  | {
      readonly kind: 'ended'
      readonly exitCode: number
      readonly output: string
      /** Of the last response in the trace. */
      readonly lastStatus: number | undefined
    }

const run = async (
  args: readonly string[],
  options: { cwd: string; env: Record<string, string>; signal: AbortSignal },
): Promise<Outcome> => {
  const { spawn } = await import('node:child_process')
  options.signal.throwIfAborted()
  return new Promise((resolve, reject) => {
    const child = spawn('git', [...args], {
      cwd: options.cwd,
      env: options.env,
      stdio: ['ignore', 'pipe', 'pipe'],
      // Its own group, so that the helper that holds the connection ends together with it.
      detached: process.platform !== 'win32',
    })
    const onAbort = () => kill(child)
    options.signal.addEventListener('abort', onAbort, { once: true })
    let output = ''
    let trace = ''
    let lastStatus: number | undefined
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
      if (output.length > longestOutput) kill(child)
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      trace += text
      const lines = trace.lastIndexOf('\n') + 1
      for (const [, status] of trace.slice(0, lines).matchAll(responseStatus)) lastStatus = Number(status)
      trace = trace.slice(Math.max(lines, trace.length - longestOutput))
    })
    child.once('error', (error) => {
      options.signal.removeEventListener('abort', onAbort)
      if ('code' in error && error.code === 'ENOENT') resolve({ kind: 'missing' })
      else reject(error)
    })
    child.once('close', (exitCode) => {
      options.signal.removeEventListener('abort', onAbort)
      if (options.signal.aborted) reject(options.signal.reason)
      else resolve({ kind: 'ended', exitCode: exitCode ?? -1, output, lastStatus })
    })
  })
}

const kill = (child: ChildProcessByStdio<null, Readable, Readable>): void => {
  if (child.pid === undefined) return
  try {
    if (process.platform === 'win32') child.kill('SIGKILL')
    else process.kill(-child.pid, 'SIGKILL')
  } catch (error) {
    // ESRCH: it ended by itself just now, which is what was wanted.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}
