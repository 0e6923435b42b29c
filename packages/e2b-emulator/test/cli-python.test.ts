import { execFile, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { probeNamespaces } from '@warmbox/e2b-emulator'
import { describe, expect, test } from 'vitest'
import { startCommandLine } from './support/command-line.ts'

const succeeds = (...args: string[]) => spawnSync('python3', args, { stdio: 'ignore' }).status === 0
const hasPython = succeeds('-c', 'import json')
// Never installed by a test: nothing here reaches beyond loopback.
const hasSdk = hasPython && succeeds('-c', 'import e2b')
const namespaces = await probeNamespaces()
const noPython = hasPython ? '' : ' (skipped: no python3)'
const noSdk = hasSdk ? '' : ' (skipped: the e2b package is not installed for python3)'
const isolated = namespaces.available ? '' : ` (skipped: ${namespaces.reason})`

const program = (name: string) => fileURLToPath(new URL(`fixtures/${name}`, import.meta.url))

describe.skipIf(!namespaces.available)(`a user of Python${isolated}`, { timeout: 180_000 }, () => {
  test.skipIf(!hasPython)(`reaches the emulator through what the command line prints${noPython}`, async () => {
    const { variables } = await startCommandLine('--runtime', 'real')
    const { stdout } = await promisify(execFile)('python3', [program('python_client.py')], {
      env: { ...process.env, ...(await variables()) },
    })
    expect(JSON.parse(stdout)).toEqual({
      written: 'from-python',
      read: 'written in python',
      listed: ['from-python'],
      missing: [404, 'not_found'],
      output: 'hello written in python\n',
      exitCode: 0,
      failed: 3,
      metadata: { from: 'python' },
      killed: 204,
      gone: 502,
      refused: 401,
    })
  })

  test.skipIf(!hasSdk)(`with the e2b package finds commands, files and kill at work${noSdk}`, async () => {
    const { variables } = await startCommandLine('--runtime', 'real')
    const { stdout } = await promisify(execFile)('python3', [program('python_sdk.py')], {
      env: { ...process.env, ...(await variables()) },
    })
    expect(JSON.parse(stdout)).toEqual({
      output: 'hello written in python\n',
      exitCode: 0,
      listed: ['from-python'],
      killed: true,
    })
  })
})
