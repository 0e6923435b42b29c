import assert from 'node:assert/strict'
import { able, eventually } from '../assertions.ts'
import type { Behaviour } from '../behaviour.ts'

const ECHO = 'while read line; do echo "got $line"; done; echo end'

export const processes: readonly Behaviour[] = [
  {
    name: 'spawn answers while the process runs, wait when it has ended',
    needs: ['processes'],
    run: async ({ sandbox }) => {
      const handle = await able(sandbox(), 'processes').processes.spawn('sleep 0.2; echo out; echo err >&2; exit 4')
      assert.equal(handle.exitCode, undefined)
      assert.notEqual(handle.pid, '')
      const result = await handle.wait()
      assert.equal(result.exitCode, 4)
      assert.equal(result.stdout, 'out\n')
      assert.equal(result.stderr, 'err\n')
      assert.equal(handle.exitCode, 4)
    },
  },
  {
    name: 'a process that runs is listed and found',
    needs: ['processes'],
    run: async ({ sandbox }) => {
      const manager = able(sandbox(), 'processes').processes
      const handle = await manager.spawn('exec sleep 60')
      assert.ok((await manager.list()).some(({ pid, running }) => pid === handle.pid && running))
      assert.equal((await manager.get(handle.pid))?.pid, handle.pid)
      assert.equal(await manager.get('999999'), undefined)
    },
  },
  {
    name: 'kill ends it, and what has ended cannot be killed',
    needs: ['processes'],
    run: async ({ sandbox }) => {
      const manager = able(sandbox(), 'processes').processes
      const handle = await manager.spawn('exec sleep 60')
      assert.equal(await manager.kill(handle.pid), true)
      assert.equal((await handle.wait()).success, false)
      assert.equal(await manager.kill('999999'), false)
    },
  },
  {
    name: 'a time limit ends a process and says so',
    needs: ['processes'],
    run: async ({ sandbox }) => {
      const handle = await able(sandbox(), 'processes').processes.spawn('exec sleep 60', { timeout: 500 })
      const result = await handle.wait()
      assert.equal(result.timedOut, true)
      assert.equal(result.success, false)
    },
  },
  {
    name: 'output can be read while it runs, and its environment and directory are its own',
    needs: ['processes'],
    run: async ({ id, sandbox, subject }) => {
      const manager = able(sandbox(), 'processes').processes
      await (await manager.spawn(`mkdir -p '${subject.directory(id)}/its'`)).wait()
      const handle = await manager.spawn('echo "$OWN"; pwd; exec sleep 60', {
        env: { OWN: 'mine' },
        cwd: `${subject.directory(id)}/its`,
      })
      const seen = await eventually(
        () => handle.stdout,
        (text) => text.split('\n').length === 3,
      )
      assert.match(seen, /^mine\n.*\/its\n$/)
    },
  },
  {
    name: 'it takes input',
    needs: ['processes', 'send-stdin'],
    run: async ({ sandbox }) => {
      const handle = await able(sandbox(), 'processes').processes.spawn(ECHO)
      await handle.sendStdin('one\n')
      await handle.sendStdin('two\n')
      await eventually(
        () => handle.stdout,
        (text) => text === 'got one\ngot two\n',
      )
    },
  },
  {
    name: 'its input can be ended',
    needs: ['processes', 'send-stdin', 'close-stdin'],
    run: async ({ sandbox }) => {
      const handle = await able(sandbox(), 'processes').processes.spawn(ECHO)
      await handle.sendStdin('one\n')
      await handle.closeStdin()
      const result = await handle.wait()
      assert.equal(result.stdout, 'got one\nend\n')
      assert.equal(result.exitCode, 0)
    },
  },
  {
    name: 'without stdin there is nothing to write to',
    needs: ['processes', 'stdin-ignore'],
    run: async ({ sandbox }) => {
      const handle = await able(sandbox(), 'processes').processes.spawn('cat; exec sleep 60', { stdinMode: 'ignore' })
      await assert.rejects(handle.sendStdin('one\n'))
    },
  },
  {
    name: 'another instance finds it, follows it and can kill it',
    needs: ['processes', 'send-stdin', 'reconnect', 'process-reattach'],
    run: async ({ sandbox }) => {
      const handle = await able(sandbox(), 'processes').processes.spawn(ECHO)
      const manager = able(sandbox(), 'processes').processes
      assert.ok((await manager.list()).some(({ pid, running }) => pid === handle.pid && running))
      const followed = await manager.get(handle.pid)
      assert.ok(followed !== undefined)
      await handle.sendStdin('late\n')
      await eventually(
        () => followed.stdout,
        (text) => text === 'got late\n',
      )
      assert.equal(await manager.kill(handle.pid), true)
      assert.equal((await handle.wait()).success, false)
    },
  },
]
