import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { Sandbox, Template } from 'e2b'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createEmulator } from '@warmbox/e2b-emulator'
import { isRoot } from '../real-runtime/support.ts'
import { startCommandLine } from '../support/command-line.ts'

describe.skipIf(isRoot)('builds that nothing confines (skipped for root, who is refused)', { timeout: 180_000 }, () => {
  test('ordinary steps: git, npm, files, directories, users, variables, a start command', async () => {
    const warned = once(process, 'warning')
    const emulator = createEmulator({ runtime: 'unsafe-host' })
    onTestFinished(() => emulator.close())
    const { connection } = await emulator.listen()
    expect(emulator.runtime).toMatchObject({ kind: 'unsafe-host', reason: expect.stringContaining('UNSAFE') })
    expect(await warned).toMatchObject([{ code: 'WARMBOX_UNSAFE_HOST' }])
    const template = Template()
      .fromImage('node:24')
      .runCmd('git init -q origin && git -C origin -c user.name=a -c user.email=a@b commit -q --allow-empty -m one')
      .runCmd('git clone -q origin copy && git -C copy log --format=%s > seen')
      .runCmd(
        'mkdir tool && cd tool && echo \'{"name":"tool","version":"1.0.0","bin":"tool.js"}\' > package.json && printf "#!/usr/bin/env node\\nconsole.log(42)" > tool.js',
      )
      .runCmd('npm install --global --offline --no-audit --no-fund ./tool && tool >> seen')
      .setEnvs({ GREETING: 'hello' })
      .setWorkdir('/srv/app')
      .runCmd('echo "$GREETING" > greeting')
      .setUser('deploy')
      .runCmd('echo $USER > ~/who')
      .setStartCmd('touch ~/started; sleep 1000', 'test -f ~/started')
    await Template.build(template, 'ordinary', connection)
    const sandbox = await Sandbox.create('ordinary', connection)
    expect(await sandbox.files.read('/home/user/seen')).toBe('one\n42\n')
    expect(await sandbox.files.read('/srv/app/greeting')).toBe('hello\n')
    expect(await sandbox.files.read('/home/deploy/who')).toBe('deploy\n')
    expect((await sandbox.commands.run('tool; pwd')).stdout).toMatch(/^42\n.*\/srv\/app\n$/)
    await sandbox.betaPause()
    const resumed = await Sandbox.connect(sandbox.sandboxId, connection)
    expect((await resumed.commands.run('cat ~/who')).stdout).toBe('deploy\n')
  })

  test('the command line says loudly what it does, serves, and leaves nothing behind', async () => {
    const { child, written, temporary, ended, variables } = await startCommandLine('--unsafe-host')
    const { E2B_API_URL: apiUrl = '', E2B_SANDBOX_URL: sandboxUrl = '', E2B_API_KEY: apiKey = '' } = await variables()
    expect(written.stderr).toContain('UNCONFINED')
    const sandbox = await Sandbox.create('base', { apiUrl, sandboxUrl, apiKey })
    expect((await sandbox.commands.run('echo here')).stdout).toBe('here\n')
    child.kill('SIGTERM')
    expect(await ended).toEqual([0, null])
    expect(await readdir(temporary)).toEqual([])
  })
})
