import { LocalFilesystem, type WorkspaceFilesystem } from '@mastra/core/workspace'
import { createEmulator, probeNamespaces } from '@warmbox/e2b-emulator'
import { E2BSandbox } from '@warmbox/sandbox'
import { describeSandbox } from '@warmbox/sandbox-test-kit'
import { afterAll, beforeAll, describe, test } from 'vitest'
import { installStandIn } from './support/s3fs-stand-in.ts'

const probe = await probeNamespaces()
const emulator = createEmulator({ runtime: probe.available ? 'real' : 'scripted' })
const { connection } = await emulator.listen()
beforeAll(() => emulator.ready())
afterAll(() => emulator.close())

/** A bucket that says no more of itself than how it is mounted. */
function bucket(name: string): WorkspaceFilesystem {
  const filesystem = new LocalFilesystem({ basePath: '/nowhere' })
  const config = { type: 's3', bucket: name, region: 'eu-central-1', accessKeyId: 'id', secretAccessKey: 'key' }
  Object.defineProperty(filesystem, 'getMountConfig', { value: () => config })
  return filesystem
}

const reason = probe.available ? '' : ` (skipped: ${probe.reason})`

describe.skipIf(!probe.available)(`on the emulator with real processes${reason}`, () => {
  describeSandbox(
    { describe, test },
    {
      name: 'E2BSandbox',
      capabilities: {
        'start-outcome': true,
        'start-abort': true,
        resume: true,
        'destroy-removes-files': true,
        reconnect: true,
        clone: true,
        'set-env': true,
        'working-directory': true,
        'stdin-ignore': true,
        'retained-output': true,
        processes: true,
        'send-stdin': true,
        'close-stdin': true,
        'process-reattach': true,
        'write-files': true,
        'file-modes': true,
        'write-abort': true,
        mount: true,
        'mount-content': 'stand-ins for the mount programs mount nothing',
        checkpoints: true,
        networking: true,
      },
      createSandbox: (request) => new E2BSandbox({ ...connection, template: 'base', ...request }),
      directory: () => '/home/user/kit',
      mounts: {
        path: '/data',
        prepare: async (sandbox) => {
          if (sandbox instanceof E2BSandbox) await installStandIn(sandbox)
        },
        filesystem: () => bucket('assets'),
        broken: () => bucket('broken'),
      },
    },
  )
})
