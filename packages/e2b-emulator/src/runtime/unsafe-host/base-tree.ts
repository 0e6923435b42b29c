import * as fs from 'node:fs'
import { dirname, join } from 'node:path'
import { accountFiles, homeFiles } from '../real/account-files.ts'
import { bundleFile, certificateBundle } from '../real/certificates.ts'
import { createPlanter } from '../real/planter.ts'
import { recordDirectory, shimsFor } from '../real/shims.ts'
import { machineVariable } from './private-directory.ts'

/** The variable that tells commands where their machine's files lie. */
export const rootVariable = 'WARMBOX_MACHINE_ROOT'

const directories = ['/etc/profile.d', '/mnt', '/opt', '/run', '/srv', '/var/tmp', '/usr/local/bin', '/code']
const homes = ['/home/user', '/root', '/workspace']
const nodeCompanions = ['npm', 'npx', 'pnpm', 'pnpx', 'yarn', 'corepack']

/** Login shells start from the host's profile; this comes after it. */
const profile = `PATH="$${rootVariable}/usr/local/bin:$PATH"
for file in "$${rootVariable}"/etc/profile.d/*.sh; do
  if [ -r "$file" ]; then . "$file"; fi
done
unset file
`

/**
 * Writes the files every machine starts from into `directory`. Programs are the host's; in `/usr/local/bin` are the
 * stand-ins, the Node that runs this process and the package managers beside it.
 */
export function writeBaseTree(directory: string, certificateAuthorities: readonly string[]): void {
  const planter = createPlanter(dirname(directory), [{ key: 'base', target: '/' }], { own: () => undefined })
  for (const path of [...directories, ...homes, recordDirectory]) planter.directory(path)
  planter.directory('/tmp', { mode: 0o1777 })
  for (const [name, content] of Object.entries(accountFiles(process.getuid?.() ?? 1000)))
    planter.file(`/etc/${name}`, content)
  planter.file('/etc/hosts', fs.readFileSync('/etc/hosts', 'utf8'))
  planter.file(bundleFile, certificateBundle(certificateAuthorities))
  for (const home of ['/etc/skel', ...homes])
    for (const [name, content] of Object.entries(homeFiles))
      planter.file(`${home}/${name}`, name === '.profile' ? profile + content : content)
  const place = {
    root: `$${rootVariable}`,
    kept: [machineVariable, rootVariable].map((name) => `${name}="$${name}" `).join(''),
    anyone: true,
  }
  const beside = dirname(process.execPath)
  planter.link('/usr/local/bin/node', process.execPath)
  const found = nodeCompanions.filter((name) => fs.existsSync(join(beside, name)))
  for (const name of found) planter.link(`/usr/local/bin/${name}`, join(beside, name))
  for (const { name, script } of shimsFor(place))
    if (!found.includes(name)) planter.file(`/usr/local/bin/${name}`, script, { mode: 0o755 })
}
