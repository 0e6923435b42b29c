import * as fs from 'node:fs'
import { dirname, join } from 'node:path'
import { findOnHost } from './commands.ts'
import type { Storage } from './mount-plan.ts'
import type { Planter } from './planter.ts'

/** What comes with a complete Node installation, by the package that holds it. */
const companions: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  npm: { npm: 'bin/npm-cli.js', npx: 'bin/npx-cli.js' },
  corepack: { corepack: 'dist/corepack.js' },
}

/**
 * Makes the Node that runs this process the machine's `node`, with the package managers installed beside it. Where it
 * has none (an npm-installed binary), those of the host's `/usr` serve, run by this Node; where there are none either,
 * the machine has none. Returns one line per command that says which it is.
 */
export function placeNode(planter: Planter, storage: Storage): readonly string[] {
  const binary = fs.realpathSync(process.execPath)
  const report = [`node: ${process.version}, the one that runs the emulator`]
  placeBinary(planter, storage, binary)
  const packages = join(dirname(dirname(binary)), 'lib', 'node_modules')
  for (const [name, commands] of Object.entries(companions)) {
    const from = join(packages, name)
    const beside = fs.existsSync(from)
    // Below /usr every machine sees it already.
    if (beside && !binary.startsWith('/usr/')) {
      const to = `/usr/local/lib/node_modules/${name}`
      planter.directory(dirname(to))
      fs.cpSync(from, planter.locate(to), { recursive: true, verbatimSymlinks: true })
      planter.adopt(to)
      for (const [command, script] of Object.entries(commands)) {
        fs.rmSync(planter.locate(`/usr/local/bin/${command}`), { force: true })
        planter.link(`/usr/local/bin/${command}`, `${to}/${script}`)
      }
    }
    for (const command of Object.keys(commands)) {
      const host = findOnHost(command)
      if (beside) report.push(`${command}: the one installed with that Node`)
      else if (host !== undefined) report.push(`${command}: the host's ${host}`)
      else report.push(`${command}: none on this host`)
    }
  }
  return report
}

function placeBinary(planter: Planter, storage: Storage, binary: string): void {
  const name = '/usr/local/bin/node'
  if (binary === name && storage === 'overlay') return
  if (binary.startsWith('/usr/') && !binary.startsWith('/usr/local/')) {
    planter.link(name, binary)
    return
  }
  const to = planter.locate(name)
  if (storage === 'overlay') {
    try {
      // Safe although it is the host's own file: a lower layer is never written, a change makes a copy.
      fs.linkSync(binary, to)
      return
    } catch (error) {
      // EXDEV: another file system. EPERM: the kernel lets only owners link. Both leave the copy.
      const code = error instanceof Error && 'code' in error ? error.code : undefined
      if (code !== 'EXDEV' && code !== 'EPERM' && code !== 'EMLINK') throw error
    }
  }
  fs.copyFileSync(binary, to, fs.constants.COPYFILE_FICLONE)
  planter.adopt(name)
}
