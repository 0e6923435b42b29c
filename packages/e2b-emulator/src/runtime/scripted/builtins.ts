import { posix } from 'node:path'
import { pause } from '../../clock.ts'
import type { ScriptedCall, ScriptedCommand, ScriptedResult } from './table.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** What a plain word of a command may consist of; anything a shell would interpret is left to the caller's table. */
const WORDS = String.raw`(?: +[\w./:=@%+,-]+)*`

const plain = (name: string, arguments_ = WORDS) => new RegExp(`^\\s*${name}${arguments_}\\s*$`)

const words = (call: ScriptedCall) => call.text.trim().split(/ +/).slice(1)

/** Commands every scripted machine answers after the caller's own table: enough for a health check, not a shell. */
export const BUILTIN_COMMANDS: readonly ScriptedCommand[] = [
  { match: plain('true', ''), answer: {} },
  { match: plain('false', ''), answer: { exitCode: 1 } },
  { match: plain('exit', ' +\\d+'), answer: (call) => ({ exitCode: Number(words(call)[0]) }) },
  { match: plain('pwd', ''), answer: (call) => ({ stdout: `${call.cwd}\n` }) },
  { match: plain('whoami', ''), answer: (call) => ({ stdout: `${call.user}\n` }) },
  { match: plain('env', ''), answer: environment },
  { match: plain('echo'), answer: (call) => ({ stdout: `${words(call).join(' ')}\n` }) },
  { match: /^printf "%s" "[^`]*"$/, answer: expandVariables },
  { match: plain('sleep', ' +(?:\\d+(?:\\.\\d+)?|infinity)'), answer: sleep },
  { match: plain('cat', ''), answer: copyInput },
  { match: plain('cat', ' +[\\w./-]+'), answer: readFile },
  { match: plain('useradd'), answer: addUser },
]

/** Rejects nothing it was asked to match: an unset variable is empty, as in a shell. */
function expandVariables(call: ScriptedCall): ScriptedResult {
  const login: Readonly<Record<string, string>> = { HOME: '/root', USER: call.user, LOGNAME: call.user, ...call.env }
  const quoted = call.text.slice('printf "%s" "'.length, -1)
  return {
    stdout: quoted.replace(/\\(.)|\$\{?(\w+)\}?/g, (_, escaped?: string, name?: string) =>
      name === undefined ? (escaped ?? '') : (login[name] ?? ''),
    ),
  }
}

function environment(call: ScriptedCall): ScriptedResult {
  return {
    stdout: Object.entries(call.env)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
  }
}

/** Lasts as long as it says by the clock of the emulator; a signal ends it sooner. */
async function sleep(call: ScriptedCall): Promise<ScriptedResult> {
  const [duration] = words(call)
  const seconds = duration === 'infinity' ? Number.POSITIVE_INFINITY : Number(duration)
  await pause(call.clock, seconds * 1000, call.signal)
  return {}
}

async function copyInput(call: ScriptedCall): Promise<ScriptedResult> {
  for await (const chunk of call.stdin) call.stdout(decoder.decode(chunk))
  return {}
}

async function readFile(call: ScriptedCall): Promise<ScriptedResult> {
  const path = words(call)[0] ?? ''
  const absolute = posix.resolve(call.cwd, path)
  const isFile = await call.files.stat(absolute).then(
    (entry) => entry.type === 'file',
    () => false, // The shell's own words for a missing file follow below.
  )
  if (!isFile) return { stderr: `cat: ${path}: No such file or directory\n`, exitCode: 1 }
  return { stdout: await new Response(await call.files.read(absolute)).text() }
}

async function addUser(call: ScriptedCall): Promise<ScriptedResult> {
  const name = words(call).at(-1) ?? ''
  const passwd = await new Response(await call.files.read('/etc/passwd')).text()
  const id = 1000 + passwd.split('\n').length
  const line = `${name}:x:${id}:${id}::/home/${name}:/bin/bash\n`
  await call.files.write('/etc/passwd', new Blob([encoder.encode(passwd + line)]).stream(), 'root')
  await call.files.makeDirectory(`/home/${name}`, name)
  return {}
}
