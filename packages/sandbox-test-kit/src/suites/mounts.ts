import assert from 'node:assert/strict'
import { callLifecycle, type WorkspaceSandbox } from '@mastra/core/workspace'
import { able, run, start } from '../assertions.ts'
import type { Behaviour, Trial } from '../behaviour.ts'
import type { MountSubject } from '../subject.ts'

async function prepared({ subject, sandbox }: Trial): Promise<[WorkspaceSandbox, MountSubject]> {
  const { mounts } = subject
  assert.ok(mounts !== undefined, `${subject.name} declares 'mount' and says nothing of how`)
  const started = sandbox()
  await start(started)
  await mounts.prepare?.(started)
  return [started, mounts]
}

export const mounts: readonly Behaviour[] = [
  {
    name: 'a mount is told and noted, and again is no error',
    needs: ['mount'],
    run: async (trial) => {
      const [sandbox, { filesystem, path }] = await prepared(trial)
      const mounted = await filesystem()
      assert.deepEqual(pick(await able(sandbox, 'mount').mount(mounted, path)), { success: true, mountPath: path })
      assert.equal(able(sandbox, 'mounts').mounts.get(path)?.state, 'mounted')
      assert.equal((await able(sandbox, 'mount').mount(mounted, path)).success, true)
    },
  },
  {
    name: 'commands see the files of what is mounted',
    needs: ['mount', 'mount-content'],
    run: async (trial) => {
      const [sandbox, { filesystem, path }] = await prepared(trial)
      await able(sandbox, 'mount').mount(await filesystem(), path)
      const { stdout } = await run(sandbox, `cat '${path}/hello.txt' || cat '.${path}/hello.txt'`)
      assert.equal(stdout, 'hello')
    },
  },
  {
    name: 'a mount that fails is told in the result, and the sandbox runs on',
    needs: ['mount'],
    run: async (trial) => {
      const [sandbox, { broken, path }] = await prepared(trial)
      const result = await able(sandbox, 'mount').mount(await broken(), path)
      assert.equal(result.success, false)
      assert.equal(result.mountPath, path)
      assert.notEqual(result.error ?? '', '')
      assert.equal((await run(sandbox, 'echo on')).stdout, 'on\n')
    },
  },
  {
    name: 'what is unmounted is gone',
    needs: ['mount'],
    run: async (trial) => {
      const [sandbox, { filesystem, path }] = await prepared(trial)
      await able(sandbox, 'mount').mount(await filesystem(), path)
      await able(sandbox, 'unmount').unmount(path)
      assert.notEqual(able(sandbox, 'mounts').mounts.get(path)?.state, 'mounted')
    },
  },
  {
    name: 'a start mounts what waits',
    needs: ['mount', 'resume'],
    run: async (trial) => {
      const [sandbox, { filesystem, path }] = await prepared(trial)
      await callLifecycle(sandbox, 'stop')
      able(sandbox, 'mounts').mounts.add({ [path]: await filesystem() })
      await start(sandbox)
      assert.equal(able(sandbox, 'mounts').mounts.get(path)?.state, 'mounted')
    },
  },
]

const pick = ({ success, mountPath }: { success: boolean; mountPath: string }) => ({ success, mountPath })
