import { posix } from 'node:path'
import { RuntimeError, type FileEntry, type Machine, type MachineFiles } from '../port.ts'
import { SystemError } from '../system-errors.ts'

/**
 * The machine as its users know it, over one whose files lie below `root` on the host: `/home/user` is
 * `<root>/home/user` there. Paths cannot climb out of it; links that are absolute lead to the host.
 */
export function below(root: string, machine: Machine): Machine {
  return {
    id: machine.id,
    confined: false,
    files: filesBelow(root, machine.files),
    spawn: ({ cwd, ...options }) =>
      told(root, () => machine.spawn(cwd === undefined ? options : { ...options, cwd: onHost(root, cwd) })),
    pause: () => machine.pause(),
    resume: () => machine.resume(),
    snapshot: () => machine.snapshot(),
    destroy: () => machine.destroy(),
    ended: machine.ended,
    connect: (port) => machine.connect(port),
    usage: () => machine.usage(),
  }
}

const onHost = (root: string, path: string) => root + posix.resolve('/', path)

const inMachine = (root: string, path: string) =>
  path === root ? '/' : path.startsWith(`${root}/`) ? path.slice(root.length) : path

/** Errors name the paths that were asked for. */
async function told<Result>(root: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof RuntimeError)) throw error
    const asAsked = (text: string) => text.replaceAll(root, '')
    throw error instanceof SystemError
      ? new SystemError(error.system, asAsked(error.attempt), { cause: error })
      : new RuntimeError(error.code, asAsked(error.message), { cause: error })
  }
}

function filesBelow(root: string, files: MachineFiles): MachineFiles {
  const host = (path: string) => onHost(root, path)
  const entryOf = ({ symlinkTarget, ...entry }: FileEntry): FileEntry => ({
    ...entry,
    name: entry.path === root ? '/' : entry.name,
    path: inMachine(root, entry.path),
    ...(symlinkTarget === undefined ? {} : { symlinkTarget: inMachine(root, symlinkTarget) }),
  })
  const entry = (work: () => Promise<FileEntry>) => told(root, async () => entryOf(await work()))
  return {
    stat: (path) => entry(() => files.stat(host(path))),
    list: (path, depth) => told(root, async () => (await files.list(host(path), depth)).map(entryOf)),
    makeDirectory: (path, owner) => told(root, () => files.makeDirectory(host(path), owner)),
    move: (from, to) => entry(() => files.move(host(from), host(to))),
    remove: (path) => told(root, () => files.remove(host(path))),
    read: (path) => told(root, () => files.read(host(path))),
    write: (path, content, owner, options) => entry(() => files.write(host(path), content, owner, options)),
    concatenate: (sources, path, owner) => entry(() => files.concatenate(sources.map(host), host(path), owner)),
    unpack: (archive, path, options) => told(root, () => files.unpack(archive, host(path), options)),
    own: (path, owner) => told(root, () => files.own(host(path), owner)),
    homeOf: async (user) => inMachine(root, await files.homeOf(user)),
    watch: (path, ...how) => told(root, () => files.watch(host(path), ...how)),
  }
}
