import { E2BSandbox, e2bSandboxProvider } from '@warmbox/sandbox'
import { describe, expect, test } from 'vitest'
import { connection, failure, platform } from './support/index.ts'

describe('the descriptor for the editor', () => {
  test('makes the sandbox that was stored', async () => {
    const e2b = platform()
    const stored = JSON.parse(JSON.stringify({ ...connection, id: 'session-1', template: 'warm:v1', timeout: 60_000 }))

    const sandbox = await e2bSandboxProvider.createSandbox(stored)
    await sandbox.start?.()

    expect(sandbox).toBeInstanceOf(E2BSandbox)
    expect(e2b.only).toMatchObject({ template: 'warm:v1', metadata: { 'mastra-sandbox-id': 'session-1' } })
  })

  test('refuses what is malformed', async () => {
    expect(await failure((async () => e2bSandboxProvider.createSandbox({ timeout: -1 }))())).toMatchObject({
      code: 'INVALID_OPTION',
      hint: expect.any(String),
    })
  })

  test('describes every option it takes as a JSON schema', () => {
    expect(e2bSandboxProvider).toMatchObject({ id: 'e2b', name: 'E2B', configSchema: { type: 'object' } })
    expect(JSON.parse(JSON.stringify(e2bSandboxProvider.configSchema))).toEqual(e2bSandboxProvider.configSchema)
    expect(Object.keys(Object(e2bSandboxProvider.configSchema?.['properties'])).toSorted()).toEqual([
      'accessToken',
      'apiKey',
      'apiUrl',
      'checkpointName',
      'domain',
      'env',
      'id',
      'lifecycle',
      'metadata',
      'sandboxId',
      'sandboxUrl',
      'seedCheckpointName',
      'strictTemplate',
      'template',
      'timeout',
      'workingDirectory',
    ])
  })
})
