import type { BuildRecord } from '../platform/state.ts'
import { asRoot, runCommand, type BuildMachine } from './command.ts'

const OPEN_SHARED = 'mkdir -p /code /usr/local && chmod 777 /code /usr/local'

/** What the platform does to every image: a marker, the home owned by its user, shared directories open to all. */
export async function finalizeFiles(build: BuildMachine, record: BuildRecord): Promise<void> {
  const marker = `TEMPLATE_ID=${record.templateId}\nBUILD_ID=${record.id}\n`
  await build.machine.files.write('/.e2b', new Blob([marker]).stream(), 'root', { mode: 0o644 })
  await build.machine.files.own('/home/user', 'user')
  // These paths would be the host's.
  if (!build.machine.confined)
    return build.log.write('warn', 'shared directories stay as they are: this machine is not confined')
  const end = await runCommand(build, { ...asRoot, command: OPEN_SHARED })
  // A runtime may share these directories with the host, read-only; the template is usable all the same.
  if (!end.ok) build.log.write('warn', `shared directories could not be opened: ${end.status}`)
}
