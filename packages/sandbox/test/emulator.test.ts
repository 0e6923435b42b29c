import { createHash } from 'node:crypto'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Workspace } from '@mastra/core/workspace'
import { quoteShell } from '@warmbox/resolution'
import { Template } from 'e2b'
import { http, passthrough } from 'msw'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { emulate, type EmulatedPlatform, withoutNamespaces } from './support/emulator.ts'
import { failure } from './support/index.ts'
import { network } from './support/network.ts'

const reason = withoutNamespaces === undefined ? '' : ` (skipped: ${withoutNamespaces})`

setFlagsFromString('--expose-gc')
const gc: () => void = runInNewContext('gc')

describe.skipIf(withoutNamespaces !== undefined)(`on the emulator with real processes${reason}`, () => {
  let platform: EmulatedPlatform

  beforeAll(async () => {
    platform = await emulate({ runtime: 'real' })
  }, 60_000)
  afterAll(() => platform.close())

  test('start, command, files, stop, resume, destroy', async () => {
    const sandbox = platform.sandbox({ id: 'journey', env: { GREETING: 'hello' } })

    expect(await sandbox.start()).toEqual({ outcome: 'created' })
    expect(await sandbox.executeCommand('echo "$GREETING $0"', [`it's`, '$HOME'])).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining(`hello`),
    })
    await sandbox.writeFiles([
      { path: 'notes/day.txt', content: 'grüße\n' },
      { path: 'notes/key', content: 'secret', mode: 0o600 },
    ])
    const written = await sandbox.executeCommand('cat notes/day.txt notes/key; stat -c %a notes/key notes/day.txt')
    expect(written.stdout).toBe('grüße\nsecret600\n644\n')

    await sandbox._stop()
    const elsewhere = platform.sandbox({ id: 'journey' })
    expect(await elsewhere.start()).toEqual({ outcome: 'connected' })
    expect(elsewhere.sandboxId).toBe(sandbox.sandboxId)
    expect((await elsewhere.executeCommand('cat', ['notes/day.txt'])).stdout).toBe('grüße\n')

    await elsewhere._destroy()
    const successor = platform.sandbox({ id: 'journey' })
    expect(await successor.start()).toEqual({ outcome: 'created' })
    expect((await successor.executeCommand('ls notes')).exitCode).not.toBe(0)
    await successor._destroy()
  })

  test.each([
    ['644', {}],
    ['600', { mode: 0o600 }],
  ])(
    'a path means the same to an upload that makes a file of %s',
    async (bits, mode) => {
      const template = Template().fromTemplate('base').setWorkdir('/srv')
      const sandbox = platform.sandbox({ template: { ref: 'elsewhere:v1', template } })
      const paths = ['~/.netrc', 'a/../b', './~c', '/tmp/../home/user/d', '../user/e/']

      await sandbox.writeFiles(paths.map((path) => ({ path, content: path, ...mode })))

      const found = await sandbox.executeCommand(
        'cd; for f in .netrc b "~c" d e; do stat -c "%a %n" "$f"; cat "$f"; echo; done',
      )
      const names = ['.netrc', 'b', '~c', 'd', 'e']
      expect(found.stdout).toBe(names.map((name, index) => `${bits} ${name}\n${paths[index]}\n`).join(''))
      expect((await sandbox.executeCommand('cd; ls -A "~" a; ls -A /srv')).stdout).toBe('')
      await sandbox._destroy()
    },
    60_000,
  )

  test('many files with modes are written at once', async () => {
    const sandbox = platform.sandbox()
    const directory = '/home/user/project/src/components'
    const files = Array.from({ length: 1_500 }, (_, index) => ({
      path: `${directory}/some-file-of-a-longer-name-${index}.ts`,
      content: `${index}`,
      mode: index === 7 ? 0o600 : 0o755,
    }))

    await sandbox.writeFiles(files)

    const modes = await sandbox.executeCommand(`stat -c %a ${directory}/* | sort | uniq -c; cat ${directory}/*-1499.ts`)
    expect(modes.stdout.replaceAll(/ +/g, ' ')).toBe(' 1 600\n 1499 755\n1499')
    await sandbox._destroy()
  }, 60_000)

  test('the longest argument arrives; one that is longer is refused without quoting it', async () => {
    const sandbox = platform.sandbox()
    const command = 'printf %s'
    const room = 131_071 - command.length - ` ''`.length

    expect((await sandbox.executeCommand(command, ['x'.repeat(room)])).stdout).toHaveLength(room)

    const error = await failure(sandbox.executeCommand(command, ['x'.repeat(room + 1)]))
    expect(error).toMatchObject({ code: 'ARGUMENT_TOO_LONG', message: expect.not.stringContaining('xx') })
    await sandbox._destroy()
  })

  test('arguments of any kind arrive as they are', async () => {
    const sandbox = platform.sandbox()
    const args = [`it's`, '$(touch canary)', '`id`', 'a\nb', '-n', '', '*', '\\', '"', 'ü€🎉', '; exit 3', '~']

    const result = await sandbox.executeCommand(`printf '<%s>'`, args)

    expect(result.stdout).toBe(args.map((arg) => `<${arg}>`).join(''))
    expect((await sandbox.executeCommand('ls canary')).exitCode).not.toBe(0)
    await sandbox._destroy()
  })

  test('a command that reads stdin sees its end at once', async () => {
    const sandbox = platform.sandbox()

    expect(await sandbox.executeCommand('cat; read line; echo done')).toMatchObject({ exitCode: 0, stdout: 'done\n' })
    await sandbox._destroy()
  })

  test('timeout, abort, kill and exit are four results', async () => {
    const sandbox = platform.sandbox()
    await sandbox.start()
    const abort = new AbortController()

    const timeout = await sandbox.executeCommand('echo begun; exec sleep 60', [], { timeout: 500 })
    const aborting = sandbox.executeCommand('echo begun; exec sleep 60', [], {
      abortSignal: abort.signal,
      onStdout: () => abort.abort(),
    })
    const handle = await sandbox.processes.spawn('exec sleep 60')
    expect(await handle.kill()).toBe(true)

    expect(timeout).toMatchObject({ endedBy: 'timeout', exitCode: 124, stdout: 'begun\n' })
    expect(await aborting).toMatchObject({ endedBy: 'abort', exitCode: 137, stdout: 'begun\n' })
    expect(await handle.wait()).toMatchObject({ endedBy: 'kill', exitCode: 137 })
    expect(await sandbox.executeCommand('exit 137')).toMatchObject({ endedBy: 'exit', exitCode: 137 })
    await sandbox._destroy()
  })

  test('what the kernel killed for want of memory is told from what somebody else killed', async () => {
    const sandbox = platform.sandbox()
    await sandbox.start()
    const die = 'kill -KILL $$'
    expect(await sandbox.executeCommand(die)).toMatchObject({ endedBy: 'signal', exitCode: -1 })

    // Machines here have no log of the kernel, and no limit of memory that could fill it.
    const record =
      '3,7,$(cut -d" " -f1 /proc/uptime | tr -d .)0000,-;Out of memory: Killed process $$ (bash) total-vm:1kB'
    await sandbox.e2b.commands.run('touch /dev/kmsg && chmod 666 /dev/kmsg', { user: 'root' })
    const eat = `echo "${record}" >/dev/kmsg; ${die}`

    expect(await sandbox.executeCommand(eat)).toMatchObject({ endedBy: 'oom', exitCode: 137, killed: true })
    const handle = await sandbox.processes.spawn(`bash -c '${eat}'; exit $?`)
    expect(await handle.wait()).toMatchObject({ endedBy: 'oom', exitCode: 137 })
    await sandbox._destroy()
  })

  test.each([
    ['a child', 'sleep 4242 & wait'],
    ['an orphan', '(sleep 4242 &) ; exec sleep 60'],
    ['one in a session of its own', 'setsid sleep 4242 & wait'],
    ['one of root', 'sudo -E sleep 4242 & wait'],
    ['one of another environment', 'sudo sh -c "sleep 4242; true"; true'],
  ])('what ends a command ends %s of it too', async (_, command) => {
    const sandbox = platform.sandbox()
    const survivors = async () => (await sandbox.executeCommand('pgrep -fx "sleep 4242" | wc -l')).stdout.trim()

    const result = await sandbox.executeCommand(command, [], { timeout: 1_000 })
    expect(result).toMatchObject({ endedBy: 'timeout' })
    expect(await survivors()).toBe('0')

    const handle = await sandbox.processes.spawn(command)
    await expect.poll(survivors, { timeout: 10_000 }).toBe('1')
    const elsewhere = await platform.sandbox({ sandboxId: sandbox.sandboxId }).processes.get(handle.pid)
    expect(await elsewhere?.kill()).toBe(true)
    expect(await survivors()).toBe('0')
    await sandbox._destroy()
  })

  test('what a command left running on purpose goes on when another one is killed', async () => {
    const sandbox = platform.sandbox()
    await sandbox.executeCommand('(sleep 4343 >/dev/null 2>&1 &)')

    await sandbox.executeCommand('sleep 60', [], { timeout: 500 })

    expect((await sandbox.executeCommand('pgrep -fx "sleep 4343" | wc -l')).stdout.trim()).toBe('1')
    await sandbox._destroy()
  })

  test('a background process takes input, is found from elsewhere and outlives its starter', async () => {
    const sandbox = platform.sandbox({ id: 'background' })
    const handle = await sandbox.processes.spawn('while read line; do echo "got $line"; done; echo end')

    await handle.sendStdin('one\n')
    await expect.poll(() => handle.stdout, { timeout: 10_000 }).toBe('got one\n')
    const elsewhere = platform.sandbox({ id: 'background' })
    expect(await elsewhere.processes.list()).toContainEqual(expect.objectContaining({ pid: handle.pid, running: true }))
    const followed = await elsewhere.processes.get(handle.pid)
    await handle.sendStdin('two\n')
    await expect.poll(() => followed?.stdout, { timeout: 10_000 }).toBe('got two\n')
    await handle.closeStdin()

    expect(await handle.wait()).toMatchObject({ exitCode: 0, stdout: 'got one\ngot two\nend\n' })
    await sandbox._destroy()
  })

  test('a process whose connection broke is followed again, and ended by its timeout', async () => {
    const sandbox = platform.sandbox()
    const followed = await sandbox.processes.spawn('read line; exit 4')
    await sandbox.processes.spawn('exec sleep 4444', { timeout: 1_000 })

    platform.emulator.control.dropStreams(sandbox.sandboxId)

    expect(await failure(followed.wait())).toMatchObject({ code: 'CONNECTION_LOST' })
    const again = await sandbox.processes.get(followed.pid)
    await again?.sendStdin('go\n')
    expect(await again?.wait()).toMatchObject({ exitCode: 4 })
    const survivors = async () => (await sandbox.executeCommand('pgrep -fx "sleep 4444" | wc -l')).stdout.trim()
    await expect.poll(survivors, { timeout: 10_000 }).toBe('0')
    await sandbox._destroy()
  })

  test('a directory that does not exist is an error, one that is to be made is not', async () => {
    const sandbox = platform.sandbox({ workingDirectory: '/home/user/app' })

    expect(await failure(sandbox.executeCommand('ls', [], { cwd: '/nowhere' }))).toMatchObject({ code: 'BAD_REQUEST' })
    expect((await sandbox.executeCommand('mkdir app && pwd')).stdout).toBe('/home/user\n')
    expect((await sandbox.executeCommand('pwd')).stdout).toBe('/home/user/app\n')
    await sandbox._destroy()
  })

  test('starts from a template that it builds, and once it is ready from the same one', async () => {
    const template = Template().fromTemplate('base').runCmd('echo baked > /home/user/baked.txt')
    const spec = { ref: 'baked:v1', template }
    const first = platform.sandbox({ template: spec })
    const second = platform.sandbox({ template: spec })

    await first.start()
    await second.start()

    expect(first.lastBoot).toMatchObject({ ref: 'baked:v1', rung: 'built' })
    expect(second.lastBoot).toMatchObject({ ref: 'baked:v1', rung: 'exact' })
    expect((await second.executeCommand('cat baked.txt')).stdout).toBe('baked\n')
    await Promise.all([first._destroy(), second._destroy()])
  }, 60_000)

  test('large output arrives without loss', async () => {
    const sandbox = platform.sandbox()

    const { stdout } = await sandbox.executeCommand('seq 1 200000')

    expect(stdout).toBe(Array.from({ length: 200_000 }, (_, index) => `${index + 1}\n`).join(''))
    await sandbox._destroy()
  }, 60_000)

  test('50 MB of text arrive once, in order and whole, and are not kept', async () => {
    const sandbox = platform.sandbox()
    const line = 'grüße €🎉 0123456789\n'
    const lines = Math.ceil(50_000_000 / Buffer.byteLength(line))
    const expected = createHash('sha256')
    for (let written = 0; written < lines; written += 1) expected.update(line)
    const arrived = createHash('sha256')
    let bytes = 0
    let highest = 0
    gc()
    const before = process.memoryUsage().heapUsed
    const handle = await sandbox.processes.spawn(`yes "$(printf '${line.trimEnd()}')" | head -n ${lines}`, {
      stdinMode: 'ignore',
      onStdout: (chunk) => {
        arrived.update(chunk)
        const past = bytes
        bytes += Buffer.byteLength(chunk)
        if (Math.floor(past / 5_000_000) === Math.floor(bytes / 5_000_000)) return
        gc()
        highest = Math.max(highest, process.memoryUsage().heapUsed)
      },
    })

    const result = await handle.wait()

    expect(result).toMatchObject({ exitCode: 0, stdoutTruncated: true })
    expect([bytes, arrived.digest('hex')]).toEqual([lines * Buffer.byteLength(line), expected.digest('hex')])
    expect(highest - before).toBeLessThan(20_000_000)
    await sandbox._destroy()
  }, 120_000)

  test('a port answers under its URL', async () => {
    network.use(http.all('http://127.0.0.1:8123/', () => passthrough()))
    const sandbox = platform.sandbox()
    const server = `require('node:http').createServer((_, answer) => answer.end('from inside')).listen(8123, '127.0.0.1', () => console.log('up'))`
    const handle = await sandbox.processes.spawn(`node -e ${quoteShell(server)}`)
    await expect.poll(() => handle.stdout, { timeout: 10_000 }).toBe('up\n')

    const url = new URL((await sandbox.networking.getPortUrl(8123)) ?? '')
    // The name below localhost resolves on most systems, not on all.
    const answer = await sandbox.executeCommand(
      `node -e ${quoteShell(`require('node:http').get({ host: '127.0.0.1', port: ${url.port}, headers: { host: '${url.host}' } }, (answer) => answer.pipe(process.stdout))`)}`,
    )

    expect(url.protocol).toBe('http:')
    expect(answer.stdout).toBe('from inside')
    await sandbox._destroy()
  })

  test('killed behind our back, it is replaced for the next command', async () => {
    const sandbox = platform.sandbox({ id: 'killed' })
    await sandbox.start()
    const lost = sandbox.sandboxId
    await sandbox.e2b.kill()

    expect((await sandbox.executeCommand('echo alive')).stdout).toBe('alive\n')

    expect(sandbox.sandboxId).not.toBe(lost)
    await sandbox._destroy()
  })

  test('carries a Mastra workspace', async () => {
    const sandbox = platform.sandbox()
    const workspace = new Workspace({ sandbox })
    await workspace.init()

    expect(workspace.sandbox).toBe(sandbox)
    expect(await sandbox.executeCommand('uname')).toMatchObject({ stdout: 'Linux\n' })
    await workspace.destroy()
    expect(sandbox.status).toBe('destroyed')
    expect(platform.emulator.control.sandboxes()).toEqual([])
  })
})
