import assert from 'node:assert/strict'
import { callLifecycle } from '@mastra/core/workspace'
import { able, run, start } from '../assertions.ts'
import type { Behaviour } from '../behaviour.ts'

export const reconnect: readonly Behaviour[] = [
  {
    name: 'another instance of the id connects and finds the files',
    needs: ['reconnect', 'start-outcome'],
    run: async ({ id, sandbox, subject }) => {
      const directory = subject.directory(id)
      await run(sandbox(), `mkdir -p '${directory}' && echo here > '${directory}/file.txt'`)
      const elsewhere = sandbox()
      assert.deepEqual(await start(elsewhere), { outcome: 'connected' })
      assert.equal((await run(elsewhere, `cat '${directory}/file.txt'`)).stdout, 'here\n')
    },
  },
  {
    name: 'another instance resumes what was stopped',
    needs: ['reconnect', 'resume', 'start-outcome'],
    run: async ({ id, sandbox, subject }) => {
      const directory = subject.directory(id)
      const first = sandbox()
      await run(first, `mkdir -p '${directory}' && echo here > '${directory}/file.txt'`)
      await callLifecycle(first, 'stop')
      const elsewhere = sandbox()
      assert.deepEqual(await start(elsewhere), { outcome: 'connected' })
      assert.equal((await run(elsewhere, `cat '${directory}/file.txt'`)).stdout, 'here\n')
    },
  },
  {
    // Called directly: core's own wrapper leaves alone what its instance never started.
    name: 'destroy of an instance that never started ends what another made',
    needs: ['reconnect', 'destroy-removes-files', 'start-outcome'],
    run: async ({ sandbox }) => {
      await start(sandbox())
      await able(sandbox(), 'destroy').destroy()
      assert.deepEqual(await start(sandbox()), { outcome: 'created' })
    },
  },
  {
    name: 'the start hook learns that it connected',
    needs: ['reconnect', 'start-outcome'],
    run: async ({ sandbox }) => {
      await start(sandbox())
      const outcomes: unknown[] = []
      await start(sandbox({ onStart: ({ outcome }) => void outcomes.push(outcome) }))
      assert.deepEqual(outcomes, ['connected'])
    },
  },
  {
    name: 'sandboxes of other ids know nothing of each other',
    run: async ({ id, sandbox, subject }) => {
      const other = `${id}-other`
      await run(sandbox(), `mkdir -p '${subject.directory(id)}' && echo mine > '${subject.directory(id)}/file.txt'`)
      const { exitCode } = await run(sandbox({ id: other }), `cat '${subject.directory(other)}/file.txt'`)
      assert.notEqual(exitCode, 0)
    },
  },
]
