import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/** Ids of the host's processes with `text` on their command line. */
export function hostProcesses(text: string): number[] {
  return processIds().filter((pid) => readOr(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8')).includes(text))
}

/** Names the user namespace of a host process. */
export const userNamespaceOf = (pid: number): string => readlinkSync(`/proc/${pid}/ns/user`)

/** Ids of the host's processes in a user namespace. */
export function processesOf(userNamespace: string): number[] {
  return processIds().filter((pid) => readOr(() => userNamespaceOf(pid)) === userNamespace)
}

/** Ids of the host's processes that sleep for so long. */
export const sleepers = (seconds: string): number[] =>
  hostProcesses(seconds).filter((pid) => readOr(() => readFileSync(`/proc/${pid}/comm`, 'utf8')) === 'sleep\n')

/** The states of a process's threads as `/proc` has them: `R` running, `S` sleeping, `T` stopped. */
export const threadStates = (pid: number): string[] =>
  readdirSync(`/proc/${pid}/task`).map((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .charAt(0),
  )

export const busyProcesses = 24
/** A command that leaves processes behind which never wait, `text` on the command line of each. */
export const busy = (text: string): string =>
  `for i in $(seq ${busyProcesses}); do nice setsid bash -c 'while :; do :; done' ${text} >/dev/null 2>&1 & done`

const processIds = () =>
  readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0)

function readOr(read: () => string): string {
  try {
    return read()
  } catch {
    // The process ended meanwhile, or is none of ours to look at.
    return ''
  }
}
