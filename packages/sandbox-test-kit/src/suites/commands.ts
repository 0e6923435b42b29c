import assert from 'node:assert/strict'
import { able, run, start } from '../assertions.ts'
import type { Behaviour } from '../behaviour.ts'

const AWKWARD = [`it's`, '$(touch canary)', '`id`', 'a\nb', '-n', '', '*', '\\', '"', 'ü€🎉', '; exit 3', '~', ' ']

export const commands: readonly Behaviour[] = [
  {
    name: 'output, errors and exit code come apart',
    run: async ({ sandbox }) => {
      const result = await run(sandbox(), 'echo out; echo err >&2; exit 3')
      assert.equal(result.stdout, 'out\n')
      assert.equal(result.stderr, 'err\n')
      assert.equal(result.exitCode, 3)
      assert.equal(result.success, false)
    },
  },
  {
    name: 'success is told, with the time it took',
    run: async ({ sandbox }) => {
      const result = await run(sandbox(), 'true')
      assert.equal(result.exitCode, 0)
      assert.equal(result.success, true)
      assert.ok(result.executionTimeMs >= 0)
    },
  },
  {
    name: 'a program that does not exist is a result',
    run: async ({ sandbox }) => {
      assert.notEqual((await run(sandbox(), 'no-such-program-here')).exitCode, 0)
    },
  },
  {
    name: 'arguments arrive as they are',
    run: async ({ sandbox }) => {
      const subject = sandbox()
      const { stdout } = await able(subject, 'executeCommand').executeCommand('printf', ['<%s>', ...AWKWARD])
      assert.equal(stdout, AWKWARD.map((word) => `<${word}>`).join(''))
    },
  },
  {
    name: 'a time limit ends a command and says so',
    run: async ({ sandbox }) => {
      const subject = sandbox()
      await start(subject)
      const result = await able(subject, 'executeCommand').executeCommand('echo begun; exec sleep 60', [], {
        timeout: 500,
      })
      assert.equal(result.timedOut, true)
      assert.equal(result.success, false)
      assert.notEqual(result.exitCode, 0)
      assert.equal(result.stdout, 'begun\n')
    },
  },
  {
    name: 'an abort ends a command that runs',
    run: async ({ sandbox }) => {
      const subject = sandbox()
      await start(subject)
      const abort = new AbortController()
      const result = await able(subject, 'executeCommand').executeCommand('echo begun; exec sleep 60', [], {
        abortSignal: abort.signal,
        onStdout: () => abort.abort(),
      })
      assert.equal(result.success, false)
      assert.notEqual(result.timedOut, true)
    },
  },
  {
    name: 'a directory is taken for one command',
    run: async ({ id, sandbox, subject }) => {
      const directory = `${subject.directory(id)}/here`
      const started = sandbox()
      await run(started, `mkdir -p '${directory}'`)
      const { stdout } = await able(started, 'executeCommand').executeCommand('pwd', [], { cwd: directory })
      assert.match(stdout, /\/here\n$/)
    },
  },
  {
    name: 'the working directory is that of the options',
    needs: ['working-directory'],
    run: async ({ id, sandbox, subject }) => {
      const workingDirectory = `${subject.directory(id)}/work`
      const started = sandbox({ workingDirectory })
      await run(started, `mkdir -p '${workingDirectory}'`)
      assert.match((await run(started, 'pwd')).stdout, /\/work\n$/)
    },
  },
  {
    name: 'environment: the options, then the command over them',
    run: async ({ sandbox }) => {
      const subject = sandbox({ env: { FIRST: 'a', SECOND: 'b' } })
      const { stdout } = await able(subject, 'executeCommand').executeCommand('echo "$FIRST$SECOND$THIRD"', [], {
        env: { SECOND: 'c', THIRD: 'd' },
      })
      assert.equal(stdout, 'acd\n')
    },
  },
  {
    name: 'setEnv holds for the next command',
    needs: ['set-env'],
    run: async ({ sandbox }) => {
      const subject = sandbox({ env: { KEPT: 'a' } })
      await start(subject)
      able(subject, 'setEnv').setEnv((env) => ({ ...env, TOKEN: 'b' }))
      assert.equal((await run(subject, 'echo "$KEPT$TOKEN"')).stdout, 'ab\n')
      able(subject, 'setEnv').setEnv(({ TOKEN: _TOKEN, ...rest }) => rest)
      assert.equal((await run(subject, 'echo "$KEPT$TOKEN"')).stdout, 'a\n')
    },
  },
  {
    name: 'reading stdin finds its end',
    needs: ['stdin-ignore'],
    run: async ({ sandbox }) => {
      assert.equal((await run(sandbox(), 'cat; echo done')).stdout, 'done\n')
    },
  },
  {
    name: 'chunks are the output, whole characters in order',
    run: async ({ sandbox }) => {
      const chunks: string[] = []
      const subject = sandbox()
      const { stdout } = await able(subject, 'executeCommand').executeCommand(
        'for n in 1 2 3 4 5; do printf "%s\\303" "$n"; sleep 0.02; printf "\\274\\n"; done',
        [],
        { onStdout: (chunk) => void chunks.push(chunk) },
      )
      assert.equal(stdout, '1ü\n2ü\n3ü\n4ü\n5ü\n')
      assert.equal(chunks.join(''), stdout)
    },
  },
  {
    name: 'much output arrives without loss',
    run: async ({ sandbox }) => {
      const { stdout } = await run(sandbox(), 'seq 1 100000')
      assert.equal(stdout, Array.from({ length: 100_000 }, (_, index) => `${index + 1}\n`).join(''))
    },
  },
  {
    name: 'a limit keeps the newest output and counts the rest',
    needs: ['retained-output'],
    run: async ({ sandbox }) => {
      const subject = sandbox()
      const result = await able(subject, 'executeCommand').executeCommand('seq 1 1000', [], { maxRetainedBytes: 10 })
      assert.equal(result.stdout, '\n999\n1000\n')
      assert.equal(result.stdoutTruncated, true)
      assert.equal(result.stdoutDroppedBytes, 3893 - 10)
    },
  },
  {
    name: 'commands at the same time keep their output apart',
    run: async ({ sandbox }) => {
      const subject = sandbox()
      const numbers = [1, 2, 3, 4, 5, 6]
      const results = await Promise.all(numbers.map((n) => run(subject, `echo ${n}; sleep 0.05; echo ${n}`)))
      assert.deepEqual(
        results.map(({ stdout }) => stdout),
        numbers.map((n) => `${n}\n${n}\n`),
      )
    },
  },
]
