import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Sandbox, Template } from 'e2b'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { createEmulator, probeNamespaces, type Emulator, type EmulatorConnection } from '@warmbox/e2b-emulator'
import { accountSeen } from '../support/account.ts'

const namespaces = await probeNamespaces()
const where = namespaces.available ? '' : ` (skipped: ${namespaces.reason})`

describe.skipIf(!namespaces.available)(`build steps with real processes${where}`, { timeout: 180_000 }, () => {
  // One for all: what takes long is unpacking the base image.
  let emulator: Emulator
  let connection: EmulatorConnection

  beforeAll(async () => {
    emulator = createEmulator({ runtime: 'real' })
    connection = (await emulator.listen()).connection
  }, 180_000)

  afterAll(() => emulator.close())

  test('RUN: a login bash, no set -e, as user in its home, files stay [B53]', async () => {
    const template = Template().fromImage('node:24').runCmd('false; shopt -q login_shell && { id -un; pwd; } > seen')
    await Template.build(template, 'login', connection)
    const sandbox = await Sandbox.create('login', connection)
    expect(await sandbox.files.read('/home/user/seen')).toBe(`${accountSeen('user')}\n/home/user\n`)
  })

  test('RUN: a failing command ends the build with its number and exit status', async () => {
    const template = Template().fromImage('node:24').runCmd('true').runCmd('echo why >&2; exit 7')
    await expect(Template.build(template, 'failing', connection)).rejects.toMatchObject({
      message: "failed to run command 'echo why >&2; exit 7': exit status 7",
    })
    const failed = emulator.control.builds().find(({ status }) => status === 'error')
    expect(failed?.reason?.step).toBe('2')
    expect(failed?.logs.map(({ message }) => message)).toContain('[builder 2/2] [stderr]: why')
  })

  test('ENV: reaches later RUN steps and not the running sandbox [B65]', async () => {
    const template = Template().fromImage('node:24').setEnvs({ SECRET: 's3cret' }).runCmd('echo "$SECRET" > seen')
    await Template.build(template, 'env', connection)
    const sandbox = await Sandbox.create('env', { ...connection, envs: { GIVEN: 'yes' } })
    expect(await sandbox.files.read('/home/user/seen')).toBe('s3cret\n')
    const { stdout } = await sandbox.commands.run('echo "[$SECRET] [$GIVEN] [$E2B_SANDBOX]"')
    expect(stdout).toBe('[] [yes] [true]\n')
  })

  test('ENV: expanded once, by a root login shell that knows no earlier ENV; substitution is inert [B59]', async () => {
    const template = Template()
      .fromImage('node:24')
      .setEnvs({ A: 'one' })
      .setEnvs({ B: '[$A]', C: '$HOME', D: '$(id) `id`' })
      .runCmd('printf "%s\\n" "$B" "$C" "$D" > seen')
    await Template.build(template, 'expanded', connection)
    const sandbox = await Sandbox.create('expanded', connection)
    expect(await sandbox.files.read('/home/user/seen')).toBe('[]\n/root\n$(id) `id`\n')
  })

  test('WORKDIR: made for the current user, relative to the one before, kept by the sandbox [B57] [B61]', async () => {
    const template = Template().fromImage('node:24').setWorkdir('/srv').setWorkdir('app').runCmd('pwd > seen')
    await Template.build(template, 'workdir', connection)
    const sandbox = await Sandbox.create('workdir', connection)
    expect(await sandbox.files.read('/srv/app/seen')).toBe('/srv/app\n')
    expect((await sandbox.commands.run('pwd; stat -c %U .')).stdout).toBe(`/srv/app\n${accountSeen('user')}\n`)
  })

  test('USER: created where absent, and the user of the sandbox [B58] [B61]', async () => {
    const template = Template().fromImage('node:24').setUser('deploy').runCmd('id -un > ~/seen')
    await Template.build(template, 'deploy', connection)
    const sandbox = await Sandbox.create('deploy', connection)
    const seen = accountSeen('deploy')
    const { stdout } = await sandbox.commands.run('id -un; cat ~/seen; echo $HOME')
    expect(stdout).toBe(`${seen}\n${seen}\n/home/deploy\n`)
  })

  test('USER: the default user has passwordless sudo [B58]', async () => {
    await Template.build(Template().fromImage('node:24').runCmd('sudo id -un > seen'), 'sudo', connection)
    const sandbox = await Sandbox.create('sudo', connection)
    expect(await sandbox.files.read('/home/user/seen')).toBe('root\n')
  })

  test('RUN: what it writes to /etc/profile.d reaches commands of the sandbox, unlike ENV [B72]', async () => {
    const template = Template()
      .fromImage('node:24')
      .setEnvs({ GONE: 'yes' })
      .runCmd('echo "export KEPT=yes" > /etc/profile.d/kept.sh', { user: 'root' })
    await Template.build(template, 'profile', connection)
    const sandbox = await Sandbox.create('profile', connection)
    expect((await sandbox.commands.run('echo "$KEPT,$GONE"')).stdout).toBe('yes,\n')
  })

  test('fromTemplate: inherits files, environment and directory, and resets the user [B63] [B64]', async () => {
    const parent = Template()
      .fromImage('node:24')
      .setEnvs({ A: 'one' })
      .setWorkdir('/srv')
      .setUser('root')
      .runCmd('touch made')
    await Template.build(parent, 'parent:v1', connection)
    const child = Template().fromTemplate('parent:v1').runCmd('{ id -un; pwd; echo $A; ls; } > /tmp/seen')
    await Template.build(child, 'child:v1', connection)
    const sandbox = await Sandbox.create('child:v1', connection)
    expect(await sandbox.files.read('/tmp/seen')).toBe(`${accountSeen('user')}\n/srv\none\nmade\n`)
  })

  test('start command: fails the build unless it lives or exits 0; runs in every sandbox [B67]', async () => {
    const alive = Template().fromImage('node:24').setStartCmd('touch /tmp/alive; sleep infinity', 'test -f /tmp/alive')
    await Template.build(alive, 'alive', connection)
    const sandbox = await Sandbox.create('alive', connection)
    const running = await sandbox.commands.run('cat /proc/[0-9]*/cmdline | tr "\\0" " "')
    expect(running.stdout).toContain('sleep infinity')
    const dead = Template().fromImage('node:24').setStartCmd('exit 4', 'sleep 0.3')
    await expect(Template.build(dead, 'dead', connection)).rejects.toThrow('start command failed: exit status 4')
  })

  test('metrics of a sandbox are measured on its processes [S25]', async () => {
    const sandbox = await Sandbox.create('base', connection)
    await sandbox.getMetrics()
    // Measures itself, so that a busy host makes the test slower and not wrong.
    await sandbox.commands.run(`node -e 'while (process.cpuUsage().user < 1e6);'`)
    const [idle, busy] = await sandbox.getMetrics()
    expect(busy?.cpuUsedPct).toBeGreaterThan(0)
    expect(busy?.diskTotal).toBeGreaterThan(busy?.diskUsed ?? 0)
    expect(idle?.memTotal).toBe(1024 * 1024 * 1024)
  })

  test('the finished file system can be searched on the host', async () => {
    await Template.build(Template().fromImage('node:24').runCmd('echo here > /home/user/mark'), 'searched', connection)
    const mounted = await emulator.control.filesystemOf('searched')
    onTestFinished(() => mounted.release())
    expect(existsSync(join(mounted.directory, 'home/user/mark'))).toBe(true)
  })
})
