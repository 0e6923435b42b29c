import assert from 'node:assert/strict'
import { able, run } from '../assertions.ts'
import type { Behaviour } from '../behaviour.ts'

export const files: readonly Behaviour[] = [
  {
    name: 'text and bytes are written, directories made, and what was there replaced',
    needs: ['write-files'],
    run: async ({ id, sandbox, subject }) => {
      const directory = subject.directory(id)
      const started = able(sandbox(), 'writeFiles')
      await started.writeFiles([
        { path: `${directory}/deep/er/text.txt`, content: 'grüße\n' },
        { path: `${directory}/bytes.bin`, content: Buffer.from([0, 255, 10, 195]) },
      ])
      await started.writeFiles([{ path: `${directory}/deep/er/text.txt`, content: 'anew' }])
      assert.equal((await run(started, `cat '${directory}/deep/er/text.txt'`)).stdout, 'anew')
      const { stdout } = await run(started, `od -An -tu1 '${directory}/bytes.bin'`)
      assert.equal(stdout.trim().replaceAll(/\s+/g, ' '), '0 255 10 195')
    },
  },
  {
    name: 'nothing to write is written at once',
    needs: ['write-files'],
    run: async ({ sandbox }) => able(sandbox(), 'writeFiles').writeFiles([]),
  },
  {
    name: 'a file has the mode it is given',
    needs: ['write-files', 'file-modes'],
    run: async ({ id, sandbox, subject }) => {
      const path = `${subject.directory(id)}/run.sh`
      const started = sandbox()
      await able(started, 'writeFiles').writeFiles([{ path, content: '#!/bin/sh\necho ran\n', mode: 0o700 }])
      assert.equal((await run(started, `'${path}'`)).stdout, 'ran\n')
      assert.match((await run(started, `ls -l '${path}'`)).stdout, /^-rwx------/)
    },
  },
  {
    name: 'a write whose signal has fired rejects',
    needs: ['write-files', 'write-abort'],
    run: async ({ id, sandbox, subject }) => {
      const path = `${subject.directory(id)}/never.txt`
      await assert.rejects(
        able(sandbox(), 'writeFiles').writeFiles([{ path, content: '' }], { abortSignal: AbortSignal.abort() }),
      )
    },
  },
]
