/** How processes of a machine are told from others of the same host. */
export interface Mark {
  /** A line of their environment begins so. */
  readonly environment: string
  /** The directory of the machine, or of all of them, which nobody else works in. */
  readonly directory: string
}

/**
 * The processes whose environment carries the mark, those they started, and those of their sessions: a command may have
 * cleared its environment, or left its parent. One that did both is found as long as it works in the machine's directory
 * without the leader of its session (somebody who looks around there has a terminal, or a service, that leads). Zombies are
 * left out.
 */
export function findMarked(mark: Mark): number[] {
  const fs = process.getBuiltinModule('node:fs')
  /** Empty where the process ended meanwhile, or belongs to somebody else. */
  const read = (pid: number, file: string): string => {
    try {
      return fs.readFileSync(`/proc/${pid}/${file}`, 'utf8')
    } catch {
      return ''
    }
  }
  const running = fs
    .readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 1)
    .flatMap((pid) => {
      const stat = read(pid, 'stat')
      // The name in parentheses may hold anything; the fields are counted from behind it.
      const [state = 'X', parent = '', , session = ''] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      return stat === '' || 'ZX'.includes(state) ? [] : [{ pid, parent: Number(parent), session: Number(session) }]
    })
  const worksIn = (pid: number): string => {
    try {
      return fs.readlinkSync(`/proc/${pid}/cwd`)
    } catch {
      return ''
    }
  }
  const alive = new Set(running.map(({ pid }) => pid))
  const marked = new Set<number>()
  const sessions = new Set<number>()
  const isMarked = (pid: number, session: number) =>
    read(pid, 'environ')
      .split('\0')
      .some((line) => line.startsWith(mark.environment)) ||
    (!alive.has(session) && worksIn(pid).startsWith(`${mark.directory}/`))
  let before = -1
  let belongs = ({ pid, session }: (typeof running)[number]) => isMarked(pid, session)
  while (before < marked.size) {
    before = marked.size
    for (const found of running) {
      if (marked.has(found.pid) || !belongs(found)) continue
      marked.add(found.pid)
      sessions.add(found.session)
    }
    belongs = ({ parent, session }) => marked.has(parent) || sessions.has(session)
  }
  return [...marked]
}

/** Kills what `find` finds until that is nothing. False where something was still there after `patienceMs`. */
export async function endMarked(find: typeof findMarked, mark: Mark, patienceMs: number): Promise<boolean> {
  const until = Date.now() + patienceMs
  for (;;) {
    const left = find(mark).filter((pid) => pid !== process.pid)
    if (left.length === 0) return true
    if (Date.now() > until) return false
    for (const pid of left) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It ended by itself, or a program with the set-user-id bit made it somebody else's; the next look tells.
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
