import { mkdtempSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LocalFilesystem, LocalSandbox } from '@mastra/core/workspace'
import { describeSandbox } from '@warmbox/sandbox-test-kit'
import { afterAll, describe, test } from 'vitest'

const root = mkdtempSync(join(tmpdir(), 'warmbox-local-sandbox-'))
afterAll(() => rm(root, { recursive: true, force: true }))

describeSandbox(
  { describe, test },
  {
    name: "core's LocalSandbox",
    capabilities: {
      'start-outcome': true,
      'start-abort': 'it takes no signal',
      resume: true,
      'destroy-removes-files': "its directory is the user's",
      reconnect: true,
      clone: true,
      'set-env': true,
      'working-directory': true,
      'stdin-ignore': true,
      'retained-output': true,
      processes: true,
      'send-stdin': true,
      'close-stdin': true,
      'process-reattach': 'processes belong to the instance',
      'write-files': 'it has none, the host has a file system',
      'file-modes': 'it has none, the host has a file system',
      'write-abort': 'it has none, the host has a file system',
      mount: true,
      'mount-content': true,
      checkpoints: true,
      networking: 'its ports are those of the host',
    },
    createSandbox: ({ id, workingDirectory, ...options }) =>
      new LocalSandbox({
        id,
        workingDirectory: workingDirectory ?? join(root, id),
        checkpointsDirectory: join(root, 'checkpoints'),
        ...options,
      }),
    directory: (id) => join(root, id),
    mounts: {
      path: '/data',
      filesystem: () => {
        const basePath = mkdtempSync(join(root, 'mounted-'))
        writeFileSync(join(basePath, 'hello.txt'), 'hello')
        return new LocalFilesystem({ basePath })
      },
      broken: () => {
        const filesystem = new LocalFilesystem({ basePath: root })
        Object.defineProperty(filesystem, 'getMountConfig', { value: () => ({ type: 'nothing-known' }) })
        return filesystem
      },
    },
  },
)
