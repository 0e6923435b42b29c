import { CommandExitError, Sandbox, Template, type CommandHandle } from 'e2b'
import { describe, expect, test } from 'vitest'
import { createScriptedRuntime } from '@warmbox/e2b-emulator'
import { startEmulator } from './support/emulator.ts'

describe('the scripted runtime', () => {
  test('answers a command from its row: output, errors and exit code', async () => {
    const { connection } = await startEmulator({
      commands: [{ match: 'git push', answer: { stdout: 'pushing\n', stderr: 'rejected\n', exitCode: 1 } }],
    })
    const sandbox = await Sandbox.create('base', connection)
    const failure = await sandbox.commands.run('git push').catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(CommandExitError)
    expect(failure).toMatchObject({ stdout: 'pushing\n', stderr: 'rejected\n', exitCode: 1 })
  })

  test('takes the first row that matches, by text or by pattern', async () => {
    const { connection } = await startEmulator({
      commands: [
        { match: 'npm test', answer: { stdout: 'exact' } },
        { match: /^npm /, answer: ({ text }) => ({ stdout: `pattern: ${text}` }) },
      ],
    })
    const sandbox = await Sandbox.create('base', connection)
    expect((await sandbox.commands.run('npm test')).stdout).toBe('exact')
    expect((await sandbox.commands.run('npm run build')).stdout).toBe('pattern: npm run build')
  })

  test('refuses a command without a row, and says which row is missing', async () => {
    const { connection } = await startEmulator()
    const sandbox = await Sandbox.create('base', connection)
    await expect(sandbox.commands.run('make all')).rejects.toThrow(
      'no row of the scripted runtime matches this command: make all',
    )
  })

  test('lets a build step without a row succeed', async () => {
    const { connection } = await startEmulator()
    await Template.build(Template().fromImage('node:24').runCmd('make all'), 'name', connection)
    expect(await Template.exists('name:default', connection)).toBe(true)
  })

  test('gives a row the files, user, directory and environment of the machine', async () => {
    const { connection } = await startEmulator({
      commands: [
        {
          match: 'generate',
          answer: async ({ files, cwd, user, env }) => {
            await files.write(`${cwd}/out`, new Blob([`${user} ${env['MODE']} ${env['HOME']}`]).stream(), user)
            return {}
          },
        },
      ],
    })
    const sandbox = await Sandbox.create('base', connection)
    await sandbox.commands.run('generate', { cwd: '/tmp', envs: { MODE: 'fast' } })
    expect(await sandbox.files.read('/tmp/out')).toBe('user fast /home/user')
  })

  test('keeps sandboxes of one template apart', async () => {
    const { connection } = await startEmulator()
    const one = await Sandbox.create('base', connection)
    const two = await Sandbox.create('base', connection)
    await one.files.write('/home/user/note', 'one')
    expect(await two.files.exists('/home/user/note')).toBe(false)
  })

  test('feeds stdin to a row until it is closed', async () => {
    const { connection } = await startEmulator()
    const sandbox = await Sandbox.create('base', connection)
    const cat = await sandbox.commands.run('cat', { background: true, stdin: true })
    await sandbox.commands.sendStdin(cat.pid, 'typed\n')
    await sandbox.commands.closeStdin(cat.pid)
    expect((await cat.wait()).stdout).toBe('typed\n')
  })

  test('ends a row that waits when it is killed', async () => {
    const { connection } = await startEmulator()
    const sandbox = await Sandbox.create('base', connection)
    const sleeping: CommandHandle = await sandbox.commands.run('sleep infinity', { background: true })
    expect(await sandbox.commands.kill(sleeping.pid)).toBe(true)
    await expect(sleeping.wait()).rejects.toMatchObject({ exitCode: -1 })
  })

  test('holds output and exit back while a machine is frozen', async () => {
    const runtime = createScriptedRuntime({ commands: [{ match: 'talk', answer: { stdout: 'said' } }] })
    const machine = await runtime.createMachine(await runtime.baseImage('any'), { id: 'one', hostname: 'one' })
    await machine.pause()
    const talking = await machine.spawn({ command: 'talk', args: [], user: 'user', env: {}, stdin: false })
    const seen: string[] = []
    talking.onOutput(({ data }) => void seen.push(new TextDecoder().decode(data)))
    const first = await Promise.race([
      talking.exit,
      new Promise((resolve) => setImmediate(() => resolve('still frozen'))),
    ])
    expect([first, seen]).toEqual(['still frozen', []])
    await machine.resume()
    expect(await talking.exit).toEqual({ exitCode: 0, exited: true, status: 'exit status 0' })
    expect(seen).toEqual(['said'])
    await runtime.close()
  })
})
