import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Template, type TemplateBuilder } from 'e2b'
import { createDefaultMountableTemplate } from '@warmbox/resolution'
import { temporaryDirectory } from './fixtures.ts'

const execute = promisify(execFile)

export interface Step {
  readonly type: string
  readonly args: readonly string[]
  readonly force?: boolean
}

const stepsOf = async (template: TemplateBuilder): Promise<readonly Step[]> => {
  const { steps }: { steps: readonly Step[] } = JSON.parse(await Template.toJSON(template, false))
  return steps
}

/** The steps a repository adds to the default mountable template's. */
export const ownSteps = async (template: TemplateBuilder): Promise<readonly Step[]> => {
  const base = await stepsOf(createDefaultMountableTemplate().template)
  return (await stepsOf(template)).slice(base.length)
}

export interface Image {
  /** What `/home/user` is on this machine. */
  readonly home: string
  /** ENV at the end. */
  readonly environment: Readonly<Record<string, string>>
  /** Arguments of every git, one line each; empty unless `recordGit` was set. */
  readonly gitCalls: string
  /** Everything the steps printed. */
  readonly log: string
}

export class StepFailure extends Error {
  override readonly name = 'StepFailure'
  readonly log: string

  constructor(log: string) {
    super(`a step failed: ${log}`)
    this.log = log
  }
}

/**
 * Runs steps as E2B does, on this machine: RUN as `bash -c`, with every ENV so far, whose values had their `$NAME`
 * expanded by a shell that knows none of them. `/home/user` is moved to a directory of its own, and `chown`, for
 * which there is no user here, does nothing. Package managers refuse: a step that would install something on this machine
 * fails. `programs` (name to script) are on PATH, for git too.
 */
export const runSteps = async (
  template: TemplateBuilder,
  options: {
    readonly certificateAuthority?: string
    readonly environment?: Readonly<Record<string, string>>
    readonly programs?: Readonly<Record<string, string>>
    readonly rewrite?: (script: string) => string
    /** The home of an earlier image, on which this one is built. */
    readonly parent?: string
    /** Whether the arguments of every git are noted, which doubles the processes. */
    readonly recordGit?: boolean
  } = {},
): Promise<Image> => {
  const { programs = {}, rewrite = (script: string) => script } = options
  const home = options.parent ?? (await temporaryDirectory())
  const bin = join(await temporaryDirectory(), 'bin')
  const calls = join(home, '..', `${home.split('/').at(-1) ?? ''}.calls`)
  const authority = join(bin, 'authority.pem')
  await mkdir(bin)
  await writeFile(authority, options.certificateAuthority ?? '')
  await writeFile(calls, '')
  await writeFile(join(bin, 'chown'), '#!/bin/sh\n', { mode: 0o755 })
  for (const manager of ['apt', 'apt-get', 'dpkg', 'sudo']) {
    const refusal = `#!/bin/sh\necho '${manager}: nothing is installed on this machine' >&2\nexit 100\n`
    await writeFile(join(bin, manager), refusal, { mode: 0o755 })
  }
  const own = join(await temporaryDirectory(), 'programs')
  await mkdir(own)
  for (const [name, script] of Object.entries(programs)) await writeFile(join(own, name), script, { mode: 0o755 })
  if (options.recordGit === true) {
    await writeFile(
      join(bin, 'git'),
      `#!/bin/bash\nprintf '%s ' "$@" >> '${calls}'\nprintf '\\n' >> '${calls}'\nPATH='${own}:${process.env['PATH'] ?? ''}' exec git "$@"\n`,
      { mode: 0o755 },
    )
  }
  const environment: Record<string, string> = {}
  let log = ''
  try {
    for (const { type, args } of await (options.parent === undefined ? ownSteps : stepsOf)(template)) {
      if (type === 'ENV') {
        for (let index = 0; index < args.length; index += 2) {
          environment[args[index] ?? ''] = (args[index + 1] ?? '').replaceAll(/\$(?:\w+|\{\w+\}|.)/g, '')
        }
        continue
      }
      try {
        const script = rewrite((args[0] ?? '').replaceAll('/home/user', home))
        // What a login shell of this machine reads takes long and is not under test.
        const { stdout, stderr } = await execute('bash', ['-c', script], {
          cwd: home,
          env: {
            PATH: `${bin}:${own}:${process.env['PATH'] ?? ''}`,
            HOME: home,
            GIT_SSL_CAINFO: authority,
            ...options.environment,
            ...environment,
          },
          timeout: 30_000,
        })
        log += stdout + stderr
      } catch (error) {
        const { stdout, stderr }: { stdout?: string; stderr?: string } = Object(error)
        throw new StepFailure(`${log}${stdout ?? ''}${stderr ?? ''}`)
      }
    }
    const { stdout: gitCalls } = await execute('cat', [calls])
    return { home, environment, gitCalls, log }
  } finally {
    await execute('rm', ['-f', calls])
  }
}
