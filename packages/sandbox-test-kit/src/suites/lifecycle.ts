import assert from 'node:assert/strict'
import { callLifecycle, type SandboxStartOutcome } from '@mastra/core/workspace'
import { able, run, start } from '../assertions.ts'
import type { Behaviour } from '../behaviour.ts'

export const lifecycle: readonly Behaviour[] = [
  {
    name: 'construction starts nothing',
    run: async ({ id, sandbox }) => {
      const subject = sandbox()
      assert.equal(subject.id, id)
      assert.equal(subject.status, 'pending')
      assert.notEqual(subject.provider, '')
      assert.notEqual(subject.name, '')
    },
  },
  {
    name: 'a first start creates, and it runs',
    needs: ['start-outcome'],
    run: async ({ sandbox }) => {
      const subject = sandbox()
      assert.deepEqual(await start(subject), { outcome: 'created' })
      assert.equal(subject.status, 'running')
    },
  },
  {
    name: 'starts at the same time are one',
    run: async ({ sandbox }) => {
      let hooks = 0
      const subject = sandbox({ onStart: () => void (hooks += 1) })
      await Promise.all([start(subject), start(subject), start(subject)])
      assert.equal(hooks, 1)
    },
  },
  {
    name: 'the start hook runs commands before anybody else, and learns the outcome',
    needs: ['start-outcome'],
    run: async ({ sandbox }) => {
      const seen: [SandboxStartOutcome | undefined, string][] = []
      const subject = sandbox({
        onStart: async ({ sandbox: started, outcome }) => {
          seen.push([outcome, (await run(started, 'echo hooked')).stdout])
        },
      })
      await start(subject)
      assert.deepEqual(seen, [['created', 'hooked\n']])
    },
  },
  {
    name: 'a start hook that throws fails the start, and the next start asks it again',
    run: async ({ sandbox }) => {
      let calls = 0
      const subject = sandbox({
        onStart: () => {
          calls += 1
          if (calls === 1) throw new Error('not yet')
        },
      })
      await assert.rejects(start(subject))
      assert.equal(subject.status, 'error')
      await start(subject)
      assert.equal(subject.status, 'running')
      assert.equal(calls, 2)
    },
  },
  {
    name: 'a start whose signal has fired rejects',
    needs: ['start-abort'],
    run: async ({ sandbox }) => {
      await assert.rejects(async () => able(sandbox(), 'start').start({ abortSignal: AbortSignal.abort() }))
    },
  },
  {
    name: 'a command starts the sandbox',
    run: async ({ sandbox }) => {
      const subject = sandbox()
      assert.equal((await run(subject, 'echo lazy')).stdout, 'lazy\n')
      assert.equal(subject.status, 'running')
    },
  },
  {
    name: 'files survive stop and start',
    needs: ['resume'],
    run: async ({ id, sandbox, subject }) => {
      const file = `${subject.directory(id)}/kept.txt`
      const stopped = sandbox()
      await run(stopped, `mkdir -p '${subject.directory(id)}' && echo kept > '${file}'`)
      await callLifecycle(stopped, 'stop')
      assert.equal(stopped.status, 'stopped')
      await start(stopped)
      assert.equal((await run(stopped, `cat '${file}'`)).stdout, 'kept\n')
    },
  },
  {
    name: 'a checkpoint brings files into another sandbox',
    needs: ['checkpoints'],
    run: async ({ id, sandbox, subject }) => {
      const checkpointName = `checkpoint-${id}`
      const first = sandbox({ checkpointName })
      assert.equal(first.supportsCheckpoints, true)
      await start(first)
      await run(first, `mkdir -p '${subject.directory(id)}' && cd '${subject.directory(id)}' && echo saved > saved.txt`)
      await first.snapshot()
      const second = sandbox({ id: `${id}-other`, checkpointName })
      await start(second)
      const other = await run(second, `cat '${subject.directory(id)}/saved.txt' || cat saved.txt`)
      assert.equal(other.stdout, 'saved\n')
    },
  },
  {
    name: 'what runs can say what it is',
    run: async ({ id, sandbox }) => {
      const subject = sandbox()
      await start(subject)
      const info = await able(subject, 'getInfo').getInfo()
      assert.equal(info.id, id)
      assert.equal(info.provider, subject.provider)
      assert.equal(info.status, 'running')
      assert.ok(info.createdAt instanceof Date)
      assert.notEqual(able(subject, 'getInstructions').getInstructions(), '')
    },
  },
  {
    name: 'a clone has its own identity and the same configuration',
    needs: ['clone'],
    run: async ({ id, sandbox }) => {
      const subject = sandbox({ env: { INHERITED: 'yes' } })
      const sibling = able(subject, 'clone').clone({ id: `${id}-clone`, env: { ADDED: 'too' } })
      try {
        assert.equal(sibling.id, `${id}-clone`)
        assert.equal(sibling.status, 'pending')
        assert.equal((await run(sibling, 'echo "$ADDED"')).stdout, 'too\n')
      } finally {
        await callLifecycle(sibling, 'destroy')
      }
    },
  },
  {
    name: 'a port has a URL while it runs',
    needs: ['networking'],
    run: async ({ sandbox }) => {
      const subject = sandbox()
      await start(subject)
      const url = await able(subject, 'networking').networking.getPortUrl(3000)
      assert.match(String(url), /^https?:\/\/[^/]+/)
    },
  },
  {
    name: 'destroy ends it, and twice is once',
    run: async ({ sandbox }) => {
      const subject = sandbox()
      await start(subject)
      await callLifecycle(subject, 'destroy')
      assert.equal(subject.status, 'destroyed')
      await callLifecycle(subject, 'destroy')
      assert.equal(subject.status, 'destroyed')
    },
  },
  {
    name: 'nothing is left after destroy',
    needs: ['destroy-removes-files'],
    run: async ({ id, sandbox, subject }) => {
      const file = `${subject.directory(id)}/gone.txt`
      const first = sandbox()
      await run(first, `mkdir -p '${subject.directory(id)}' && echo gone > '${file}'`)
      await callLifecycle(first, 'destroy')
      assert.notEqual((await run(sandbox(), `cat '${file}'`)).exitCode, 0)
    },
  },
]
