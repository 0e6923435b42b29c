import type { FSWatcher } from 'node:fs'
import type { Failures } from './accounts.ts'
import type { ServedCall, WatchEventType } from './contract.ts'

export interface Watching {
  watch(path: string, recursive: boolean, call: ServedCall): null
}

/**
 * Directory watching in the terms of the platform. The kernel's notice says only that a name changed; what happened to
 * it is told by comparing with what the directory held before.
 */
export function createWatching(failures: Failures): Watching {
  const fs = process.getBuiltinModule('node:fs')
  const { posix } = process.getBuiltinModule('node:path')

  interface Seen {
    readonly inode: number
    readonly mode: number
    readonly modified: number
    readonly size: number
    readonly directory: boolean
  }

  const look = (path: string): Seen | undefined => {
    const found = fs.lstatSync(path, { throwIfNoEntry: false })
    if (found === undefined) return undefined
    return {
      inode: found.ino,
      mode: found.mode,
      modified: found.mtimeMs,
      size: found.size,
      directory: found.isDirectory(),
    }
  }

  return {
    watch(path, recursive, call) {
      if (!fs.statSync(path).isDirectory()) throw failures.create('not-directory', `${path} is not a directory`)
      const top = fs.realpathSync(path)
      const watchers = new Map<string, FSWatcher>()
      const seen = new Map<string, Seen>()

      const report = (file: string, change: WatchEventType) =>
        call.event({ type: 'change', name: posix.relative(top, file), change })

      const forget = (file: string) => {
        for (const known of seen.keys()) if (known === file || known.startsWith(`${file}/`)) seen.delete(known)
        for (const [directory, watcher] of watchers) {
          if (directory !== file && !directory.startsWith(`${file}/`)) continue
          watcher.close()
          watchers.delete(directory)
        }
      }

      const isElsewhere = (inode: number) =>
        [...watchers.keys()].some((directory) =>
          fs.existsSync(directory)
            ? fs.readdirSync(directory).some((name) => look(posix.join(directory, name))?.inode === inode)
            : false,
        )

      const changed = (file: string) => {
        const before = seen.get(file)
        const now = look(file)
        if (before !== undefined && (now === undefined || now.inode !== before.inode)) {
          const renamed = isElsewhere(before.inode)
          forget(file)
          report(file, renamed ? 'rename' : 'remove')
        }
        if (now === undefined) return
        seen.set(file, now)
        if (before?.inode !== now.inode) {
          report(file, 'create')
          if (now.directory && recursive) attach(file, true)
        } else if (before.mode !== now.mode) report(file, 'chmod')
        else if (!now.directory && (before.modified !== now.modified || before.size !== now.size)) report(file, 'write')
      }

      /** `fresh`: the directory appeared while watching, so what it already holds is news. */
      const attach = (directory: string, fresh: boolean): void => {
        const watcher = fs.watch(directory, (_event, name) => {
          if (name !== null) changed(posix.join(directory, name))
        })
        // A watched directory that goes away ends its watcher; the parent's watcher tells of the removal.
        watcher.on('error', () => watcher.close())
        watchers.set(directory, watcher)
        for (const name of fs.readdirSync(directory)) {
          const file = posix.join(directory, name)
          if (fresh) changed(file)
          else {
            const found = look(file)
            if (found === undefined) continue
            seen.set(file, found)
            if (found.directory && recursive) attach(file, false)
          }
        }
      }

      attach(top, false)
      call.receive({ cancel: () => forget(top) })
      return null
    },
  }
}
