import * as fs from 'node:fs'
import { dirname, join } from 'node:path'
import { accountFiles, homeFiles, hostFiles } from './account-files.ts'
import { bundleFile, bundleLinks, certificateBundle } from './certificates.ts'
import { findOnHost } from './commands.ts'
import { deviceFiles, type Storage } from './mount-plan.ts'
import { placeNode } from './node-installation.ts'
import { createPlanter, type Planter } from './planter.ts'
import { becomeRoot, confinedShims, recordDirectory } from './shims.ts'
import type { HostLayout, Tree } from './trees.ts'
import type { UserNamespace } from './user-namespace.ts'

export interface BaseImageOptions {
  /** The base layer's directory on the host. */
  readonly directory: string
  readonly storage: Storage
  readonly trees: readonly Tree[]
  readonly layout: HostLayout
  readonly userNamespace: UserNamespace
  readonly certificateAuthorities: readonly string[]
}

/** Writes the bottom layer: configuration, homes, shims and the running Node. Returns where Node and its tools are from. */
export function writeBaseImage(options: BaseImageOptions): readonly string[] {
  const planter = createPlanter(options.directory, options.trees, options.userNamespace)
  writeRoot(planter, options.layout)
  writeConfiguration(planter, options)
  if (options.storage === 'overlay') openProgramDirectories(planter, options.layout)
  else
    for (const name of ['bin', 'sbin', 'lib', 'etc', 'share', 'include', 'libexec'])
      planter.directory(`/usr/local/${name}`)
  writeShims(planter, options.userNamespace.singleUser)
  return placeNode(planter, options.storage)
}

function writeRoot(planter: Planter, layout: HostLayout): void {
  for (const name of [
    'dev/pts',
    'dev/shm',
    'etc',
    'home',
    'media',
    'mnt',
    'opt',
    'proc',
    'run',
    'srv',
    'sys',
    'var/lib',
  ])
    planter.directory(`/${name}`)
  for (const name of ['var/cache', 'var/log', 'var/mail', 'var/spool']) planter.directory(`/${name}`)
  for (const path of ['/tmp', '/var/tmp']) planter.directory(path, { mode: 0o1777 })
  planter.directory('/root', { mode: 0o700 })
  planter.directory('/home/user', { uid: 1000 })
  planter.directory('/workspace', { uid: 1000 })
  planter.directory(recordDirectory)
  planter.link('/var/run', '/run')
  for (const name of layout.programTrees) fs.mkdirSync(planter.locate('/') + name, { recursive: true })
  for (const [name, target] of Object.entries(layout.links)) planter.link(`/${name}`, target)
  for (const name of deviceFiles) planter.file(`/dev/${name}`, '', { mode: 0o666 })
  planter.link('/dev/ptmx', 'pts/ptmx')
  planter.link('/dev/fd', '/proc/self/fd')
  for (const [fd, name] of ['stdin', 'stdout', 'stderr'].entries()) planter.link(`/dev/${name}`, `/proc/self/fd/${fd}`)
}

function writeConfiguration(planter: Planter, options: BaseImageOptions): void {
  copyHostFiles(planter)
  for (const [name, content] of Object.entries(accountFiles(options.userNamespace.singleUser ? 0 : 1000)))
    planter.file(`/etc/${name}`, content, { mode: name.endsWith('shadow') ? 0o640 : 0o644 })
  for (const [name, content] of Object.entries(homeFiles)) {
    planter.file(`/etc/skel/${name}`, content)
    planter.file(`/root/${name}`, content)
    planter.file(`/home/user/${name}`, content, { uid: 1000 })
  }
  planter.directory('/etc/profile.d')
  planter.file('/etc/hosts', readHost('/etc/hosts') ?? '127.0.0.1 localhost\n::1 localhost\n')
  planter.file('/etc/resolv.conf', readHost('/etc/resolv.conf') ?? '')
  planter.link('/etc/mtab', '/proc/self/mounts')
  planter.file(bundleFile, certificateBundle(options.certificateAuthorities))
  for (const path of bundleLinks) planter.link(path, bundleFile)
}

function copyHostFiles(planter: Planter): void {
  for (const name of hostFiles) {
    const from = `/etc/${name}`
    if (!fs.existsSync(from)) continue
    const path = `/etc/${name}`
    planter.directory(dirname(path))
    fs.cpSync(from, planter.locate(path), {
      recursive: true,
      verbatimSymlinks: true,
      // What is not for everybody on the host is for nobody in a machine.
      filter: (source) => {
        const found = fs.lstatSync(source)
        return found.isSymbolicLink() || (found.mode & 0o004) !== 0
      },
    })
    planter.adopt(path)
  }
}

const readHost = (path: string) => (fs.existsSync(path) ? fs.readFileSync(path, 'utf8') : undefined)

/**
 * The host's root owns the host's directories, and a machine's root is somebody else. A directory of the same name in
 * the base layer is merged with the host's and has the base layer's owner: so new files may be written there, and files
 * replaced.
 */
function openProgramDirectories(planter: Planter, layout: HostLayout): void {
  const open = (path: string, depth: number) => {
    planter.directory(path)
    if (depth === 0) return
    for (const entry of fs.readdirSync(path, { withFileTypes: true }))
      if (entry.isDirectory()) open(join(path, entry.name), depth - 1)
  }
  for (const name of layout.programTrees) open(`/${name}`, name === 'usr' ? 1 : 0)
  if (layout.programTrees.includes('usr')) {
    for (const name of ['bin', 'sbin', 'etc', 'include', 'lib', 'libexec', 'share', 'src'])
      planter.directory(`/usr/local/${name}`)
    for (const path of ['/usr/local', '/usr/lib/node_modules', '/usr/share/man', '/usr/share/ca-certificates'])
      if (fs.existsSync(path)) open(path, 3)
  }
}

function writeShims(planter: Planter, singleUser: boolean): void {
  for (const shim of confinedShims)
    if (shim.when === 'always' || findOnHost(shim.name) === undefined)
      planter.file(`/usr/local/bin/${shim.name}`, shim.script, { mode: 0o755 })
  const setpriv = findOnHost('setpriv')
  if (singleUser || setpriv === undefined) return
  planter.directory(dirname(becomeRoot))
  fs.copyFileSync(setpriv, planter.locate(becomeRoot))
  planter.adopt(becomeRoot)
  fs.chmodSync(planter.locate(becomeRoot), 0o4755)
}
