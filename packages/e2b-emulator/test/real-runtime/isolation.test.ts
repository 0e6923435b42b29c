import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { describeReal, killAllInside, output, run, useRuntime } from './support.ts'

describeReal('what a machine can do to its host', () => {
  const bench = useRuntime()
  let hostDirectory = ''
  let hostFile = ''

  beforeEach(() => {
    hostDirectory = mkdtempSync(join(tmpdir(), 'warmbox-host-'))
    hostFile = join(hostDirectory, 'file')
    writeFileSync(hostFile, 'of the host', { mode: 0o666 })
  })
  afterEach(() => rmSync(hostDirectory, { recursive: true, force: true }))

  test.each(['root', 'user'])('%s cannot see or change a file of the host by its absolute path', async (user) => {
    const machine = await bench().shared()
    const ran = await run(machine, `cat ${hostFile}; mkdir -p ${hostDirectory}; echo changed >${hostFile}`, { user })
    expect(ran.stdout).toBe('')
    expect(readFileSync(hostFile, 'utf8')).toBe('of the host')
    expect(readdirSync(hostDirectory)).toEqual(['file'])
  })

  test('the root of every process it sees is its own', async () => {
    const machine = await bench().shared()
    const ran = await run(
      machine,
      `for root in /proc/[0-9]*/root; do cat $root${hostFile}; echo x >$root${hostFile}; done`,
      {
        user: 'root',
      },
    )
    expect(ran.stdout).toBe('')
    expect(readFileSync(hostFile, 'utf8')).toBe('of the host')
  })

  test('root cannot make devices, mount, remount or enter namespaces of the host', async () => {
    const machine = await bench().shared()
    const attempts = [
      'mknod /tmp/disk b 8 0',
      'mknod /tmp/memory c 1 1',
      'mount -t tmpfs tmpfs /mnt',
      'mount --bind / /mnt',
      'mount -o remount,rw /usr',
      'umount -l /proc',
      'nsenter --target 1 --net true',
      'unshare --mount true',
    ]
    const results = await Promise.all(attempts.map((command) => run(machine, command, { user: 'root' })))
    expect(results.map(({ exit }) => exit.exitCode === 0)).toEqual(attempts.map(() => false))
  })

  test('its mount table holds its own mounts and no trace of the host’s', async () => {
    const machine = await bench().shared()
    const points = (await output(machine, 'cut -d" " -f5 /proc/self/mountinfo | sort')).split('\n')
    const devices = ['full', 'null', 'pts', 'random', 'shm', 'tty', 'urandom', 'zero'].map((name) => `/dev/${name}`)
    const programs = points.filter((point) => /^\/(usr|bin|sbin|lib\w*)$/.test(point))
    expect(points).toEqual(['/', ...devices, '/proc', ...programs].toSorted())
  })

  test('root of a nested user namespace cannot uncover anything either', async () => {
    const machine = await bench().shared()
    const ran = await run(
      machine,
      `unshare --user --map-root-user --mount sh -c 'umount -l /; umount -l /usr; cat ${hostFile}'`,
      {
        user: 'root',
      },
    )
    expect(ran.stdout).toBe('')
  })

  test('root cannot change the kernel settings of the host', async () => {
    const before = readFileSync('/proc/sys/kernel/core_pattern', 'utf8')
    const machine = await bench().shared()
    const ran = await run(machine, 'echo changed >/proc/sys/kernel/core_pattern', { user: 'root' })
    expect(ran.exit.exitCode).not.toBe(0)
    expect(readFileSync('/proc/sys/kernel/core_pattern', 'utf8')).toBe(before)
  })

  test('processes of the host are neither seen nor signalled', async () => {
    const marker = `warmbox-marker-${process.pid}`
    const bystander = spawn('sh', ['-c', 'read -r _', marker], { stdio: ['pipe', 'ignore', 'ignore'] })
    try {
      await once(bystander, 'spawn')
      const machine = await bench().machine()
      const seen = await run(machine, 'cat /proc/[0-9]*/cmdline | tr "\\0" "\\n"', { user: 'root' })
      expect(seen.stdout).not.toContain(marker)
      const exit = await killAllInside(machine, `kill -9 ${bystander.pid}; kill -9 ${process.pid}`)
      expect(exit.status).toBe('signal: killed')
      expect([bystander.exitCode, bystander.signalCode]).toEqual([null, null])
      expect(existsSync(`/proc/${bystander.pid}`)).toBe(true)
    } finally {
      bystander.stdin.end()
      bystander.kill()
    }
  })

  test('what it writes below /usr stays in it', async () => {
    const machine = await bench().machine()
    await output(machine, 'echo mine >/usr/local/bin/warmbox-probe && rm -f /usr/bin/env', { user: 'root' })
    expect(await output(machine, 'cat /usr/local/bin/warmbox-probe; ls /usr/bin/env || true', { user: 'root' })).toBe(
      'mine',
    )
    expect(existsSync('/usr/local/bin/warmbox-probe')).toBe(false)
    expect(existsSync('/usr/bin/env')).toBe(true)
    const other = await bench().machine()
    expect(await output(other, 'ls /usr/bin/env')).toBe('/usr/bin/env')
  })

  test('nothing of the host’s environment, accounts or open descriptors reaches a command', async () => {
    process.env['WARMBOX_TEST_SECRET'] = 'from the host'
    try {
      const machine = await bench().machine()
      const environment = await output(machine, 'cat /proc/[0-9]*/environ | tr "\\0" "\\n"', { user: 'root' })
      expect(environment).not.toContain('from the host')
      expect(environment).not.toContain(bench().dataDirectory)
      expect(await output(machine, 'tr "\\0" "\\n" </proc/1/environ | cut -d= -f1', { user: 'root' })).toBe('PATH')
      const descriptors = await output(machine, 'cd /proc/self/fd && echo *')
      // The fourth is the shell's own look at the directory.
      expect(descriptors).toBe('0 1 2 3')
      expect(await output(machine, 'cut -d: -f1 /etc/shadow', { user: 'root' })).toBe('root\nnobody\nuser')
    } finally {
      delete process.env['WARMBOX_TEST_SECRET']
    }
  })
})

describeReal('two machines', () => {
  const bench = useRuntime()

  test('share neither files nor processes nor hostnames', async () => {
    const [one, two] = await Promise.all([bench().machine(undefined, 'one'), bench().machine(undefined, 'two')])
    await output(one, 'echo secret >/home/user/file; echo x >/dev/shm/file; echo y >/tmp/file')
    const sleeper = await one.spawn({ command: 'sleep', args: ['4321'], user: 'user', env: {}, stdin: false })
    const seen = await output(two, 'ls /home/user /dev/shm /tmp; cat /proc/[0-9]*/cmdline | tr "\\0" " "; hostname')
    expect(seen).not.toMatch(/file|4321/)
    expect(seen.endsWith('two')).toBe(true)
    await killAllInside(two)
    expect(await output(one, 'hostname; cat /home/user/file')).toBe('one\nsecret')
    await sleeper.signal('SIGKILL')
    expect((await sleeper.exit).status).toBe('signal: killed')
  })
})
