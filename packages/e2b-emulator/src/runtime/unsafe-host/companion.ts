import { spawn } from 'node:child_process'
import { Duplex } from 'node:stream'
import { RuntimeError } from '../port.ts'
import type { AgentSettings } from '../real/agent/contract.ts'
import { endMarked, findMarked, type Mark } from '../real/agent/marked.ts'
import { agentProgram } from '../real/agent/program.ts'
import { MachineChannel } from '../real/channel.ts'
import { systemPath, toolEnvironment } from '../real/commands.ts'
import { bundleFile } from '../real/certificates.ts'
import { systemDirectories } from '../system-directories.ts'
import { rootVariable } from './base-tree.ts'
import { machineVariable } from './private-directory.ts'

const channelFd = 3
const killPatienceMs = 10_000

/** The program that stands beside a machine's commands and serves the calls of the host. */
export interface Companion {
  readonly channel: MachineChannel
  /** Kills it and every process of the machine. Rejects with `failed` where one does not end. */
  kill(): Promise<void>
}

export interface CompanionOptions {
  /** The machine's files. */
  readonly root: string
  readonly scratch: string
  /** Of every process; its line of the environment is `NAME=value`. */
  readonly mark: Mark
}

/** Starts one. It does not keep this process alive, and ends with it. */
export function startCompanion({ root, scratch, mark }: CompanionOptions): Companion {
  const child = spawn(process.execPath, ['--input-type=commonjs', '-'], {
    argv0: 'warmbox-machine',
    cwd: root,
    env: { ...toolEnvironment, ...markedBy(mark) },
    // A session of its own; by it too the processes of the machine are found.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore', 'pipe'],
  })
  const socket = child.stdio[channelFd]
  if (!(socket instanceof Duplex)) throw new RuntimeError('failed', 'no pipe to the machine')
  const channel = new MachineChannel(socket)
  child.unref()
  // A failure to start shows as a channel that closes.
  child.once('error', () => channel.close())
  child.stdin?.on('error', () => undefined)
  child.stdin?.end(agentProgram(settingsOf({ root, scratch, mark }), channelFd))
  return {
    channel,
    async kill() {
      const ended = await endMarked(findMarked, mark, killPatienceMs)
      channel.close()
      if (!ended) throw new RuntimeError('failed', `processes of the machine did not end: ${mark.environment}`)
    },
  }
}

const markedBy = ({ environment }: Mark) => ({ [machineVariable]: environment.slice(machineVariable.length + 1) })

function settingsOf({ root, scratch, mark }: CompanionOptions): AgentSettings {
  const bundle = root + bundleFile
  return {
    singleUser: true,
    path: `${root}/usr/local/bin:${systemPath}`,
    root,
    kept: systemDirectories,
    scratch,
    mark,
    defaults: {
      TMPDIR: `${root}/tmp`,
      // Else `npm install --global` writes beside the host's Node.
      npm_config_prefix: `${root}/usr/local`,
      SSL_CERT_FILE: bundle,
      CURL_CA_BUNDLE: bundle,
      GIT_SSL_CAINFO: bundle,
      NODE_EXTRA_CA_CERTS: bundle,
    },
    fixed: { ...markedBy(mark), [rootVariable]: root },
  }
}
