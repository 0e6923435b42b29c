import type { BuildRecord } from '../platform/state.ts'
import { asRoot, runCommand, type BuildMachine } from './command.ts'

/** What the platform does to every image: shared directories open to all, the home owned by its user. */
const CONFIGURE = [
  'mkdir -p /code /usr/local',
  'chmod 777 /code /usr/local',
  // Only what differs: on layered file systems touching a file copies it.
  '{ [ ! -d /home/user ] || find /home/user ! -user user -exec chown -h user:user {} + ; }',
].join(' && ')

export async function finalizeFiles(build: BuildMachine, record: BuildRecord): Promise<void> {
  const marker = `TEMPLATE_ID=${record.templateId}\nBUILD_ID=${record.id}\n`
  await build.machine.files.write('/.e2b', new Blob([marker]).stream(), 'root', { mode: 0o644 })
  // These paths would be the host's.
  if (!build.machine.confined)
    return build.log.write('warn', 'shared directories stay as they are: this machine is not confined')
  const end = await runCommand(build, { ...asRoot, command: CONFIGURE })
  // A runtime may share these directories with the host, read-only; the template is usable all the same.
  if (!end.ok) build.log.write('warn', `shared directories could not be opened: ${end.status}`)
}
