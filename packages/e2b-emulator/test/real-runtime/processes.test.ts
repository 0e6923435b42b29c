import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import type { SpawnOptions } from '../../src/runtime/port.ts'
import { deferred } from '../../src/runtime/deferred.ts'
import { describeReal, isRoot, output, run, useRuntime } from './support.ts'

const plain: Omit<SpawnOptions, 'command' | 'args'> = { user: 'user', env: {}, stdin: false }

describeReal('commands in a machine', () => {
  const bench = useRuntime()

  test('a login sets HOME, USER, LOGNAME and PATH; the call adds to it', async () => {
    const machine = await bench().shared()
    const lines = await output(machine, 'env', { env: { GREETING: 'a b\nc', HOME: '/tmp' } })
    expect(lines).toMatch(/^GREETING=a b\nc$/m)
    expect(lines).toMatch(/^HOME=\/tmp$/m)
    expect(lines).toMatch(/^USER=user$/m)
    expect(lines).toMatch(/^LOGNAME=user$/m)
    expect(lines).toMatch(/^PATH=\/usr\/local\/sbin:/m)
  })

  test('the working directory is the home unless given', async () => {
    const machine = await bench().shared()
    expect(await output(machine, 'pwd')).toBe('/home/user')
    expect(await output(machine, 'pwd', { user: 'root' })).toBe('/root')
    expect(await output(machine, 'pwd', { cwd: '/workspace' })).toBe('/workspace')
  })

  test.skipIf(!isRoot)('users are themselves (skipped: needs root, which maps more than one id)', async () => {
    const machine = await bench().shared()
    expect(await output(machine, 'id -un; id -u; touch file; stat -c %U:%G file /home/user /etc/passwd /')).toBe(
      'user\n1000\nuser:user\nuser:user\nroot:root\nroot:root',
    )
    expect(await output(machine, 'id -u', { user: 'root' })).toBe('0')
    expect(await output(machine, 'sudo id -u; sudo -u user id -u; sudo sh -c "echo \\$HOME \\$SUDO_USER"')).toBe(
      '0\n1000\n/root user',
    )
    const refused = await run(machine, 'echo x >/etc/passwd; cat /etc/shadow')
    expect(refused.stdout).toBe('')
    await output(machine, 'useradd -m -s /bin/bash builder', { user: 'root' })
    expect(await output(machine, 'id -un; pwd', { user: 'builder' })).toBe('builder\n/home/builder')
  })

  test('what cannot be started is refused with its reason, before anything ran', async () => {
    const machine = await bench().shared()
    const start = (options: Partial<SpawnOptions>) =>
      machine.spawn({ ...plain, command: '/bin/true', args: [], ...options })
    await expect(start({ user: 'nobody-here' })).rejects.toMatchObject({ code: 'user-unknown' })
    await expect(start({ cwd: '/missing' })).rejects.toMatchObject({ code: 'directory-missing' })
    await expect(start({ command: '/bin/missing' })).rejects.toMatchObject({ code: 'command-missing' })
  })

  test('exits are worded as envd words them', async () => {
    const machine = await bench().shared()
    expect((await run(machine, 'exit 0')).exit).toEqual({ exitCode: 0, exited: true, status: 'exit status 0' })
    expect((await run(machine, 'exit 7')).exit).toEqual({ exitCode: 7, exited: true, status: 'exit status 7' })
    expect((await run(machine, 'kill -9 $$')).exit).toEqual({ exitCode: -1, exited: false, status: 'signal: killed' })
    expect((await run(machine, 'kill -TERM $$')).exit.status).toBe('signal: terminated')
  })

  test('stdout and stderr are apart, and can be opened by path', async () => {
    const machine = await bench().shared()
    const ran = await run(machine, 'echo out; echo err >&2; echo out2 >/dev/stdout; echo err2 >/dev/stderr')
    expect([ran.stdout, ran.stderr]).toEqual(['out\nout2\n', 'err\nerr2\n'])
  })

  test('two hundred commands at once each deliver their own output', async () => {
    const machine = await bench().shared()
    const indices = Array.from({ length: 200 }, (_, index) => index)
    const ran = await Promise.all(indices.map((index) => run(machine, `echo ${index}; echo e${index} >&2`)))
    expect(ran.map(({ stdout, stderr }) => stdout + stderr)).toEqual(indices.map((index) => `${index}\ne${index}\n`))
  })

  test('16 MB of output arrive complete and in order, also with a slow listener', async () => {
    const machine = await bench().shared()
    const bytes = 16 * 1024 * 1024
    const command = `head -c ${bytes} /dev/zero | openssl enc -aes-128-ctr -nosalt -pass pass:x 2>/dev/null | tee >(sha256sum >&2)`
    const process = await machine.spawn({ ...plain, command: '/bin/bash', args: ['-c', command] })
    const hash = createHash('sha256')
    let received = 0
    let told = ''
    process.onOutput(async ({ stream, data }) => {
      if (stream === 'stderr') {
        told += new TextDecoder().decode(data)
        return
      }
      hash.update(data)
      received += data.length
      await new Promise((resolve) => setImmediate(resolve))
    })
    await process.exit
    expect(received).toBe(bytes)
    expect(told).toContain(hash.digest('hex'))
  })

  test('a listener that waits holds the command back, and only that command', async () => {
    const machine = await bench().shared()
    const writer = await machine.spawn({
      ...plain,
      command: 'bash',
      args: ['-c', 'head -c 8388608 /dev/zero; echo over >/tmp/over'],
    })
    const gate = deferred<void>()
    let received = 0
    writer.onOutput(async ({ data }) => {
      received += data.length
      await gate.promise
    })
    // Four times as much through the same channel: time enough for the first, if nothing held it.
    expect(await output(machine, 'head -c 33554432 /dev/zero | tr "\\0" x')).toHaveLength(33_554_432)
    expect(await output(machine, 'ls /tmp/over 2>/dev/null || echo waiting')).toBe('waiting')
    gate.resolve()
    await writer.exit
    expect(received).toBe(8_388_608)
  })

  test('an exit comes without a listener too, and the output waits for one', async () => {
    const machine = await bench().shared()
    const process = await machine.spawn({ ...plain, command: 'echo', args: ['kept'] })
    expect(await process.exit).toMatchObject({ exitCode: 0 })
    const told = await new Promise<string>((resolve) =>
      process.onOutput(({ data }) => resolve(new TextDecoder().decode(data))),
    )
    expect(told).toBe('kept\n')
  })

  test('the exit waits for pipes that a background process still holds [D21]', async () => {
    const machine = await bench().shared()
    const ran = await run(
      machine,
      '(while [ ! -e /tmp/go ]; do sleep 0.02; done; echo late) & sleep 0.1; touch /tmp/go',
    )
    expect(ran.stdout).toBe('late\n')
  })

  test('input reaches the command and its end is the end', async () => {
    const machine = await bench().shared()
    const process = await machine.spawn({ ...plain, command: 'sha256sum', args: [], stdin: true })
    let told = ''
    process.onOutput(({ data }) => {
      told += new TextDecoder().decode(data)
    })
    const bytes = new Uint8Array(3_000_000).fill(7)
    await process.write(bytes)
    await process.closeStdin()
    expect((await process.exit).exitCode).toBe(0)
    expect(told).toContain(createHash('sha256').update(bytes).digest('hex'))
    await expect(process.write(bytes)).rejects.toMatchObject({ code: 'gone' })
    await expect(process.signal('SIGTERM')).rejects.toMatchObject({ code: 'gone' })
  })

  test('input of a command that does not read is refused, not lost in silence', async () => {
    const machine = await bench().shared()
    const process = await machine.spawn({ ...plain, command: 'bash', args: ['-c', 'exec <&-; sleep 30'], stdin: true })
    await expect(process.write(new Uint8Array(1_000_000))).rejects.toMatchObject({ code: 'gone' })
    await process.signal('SIGKILL')
    await process.exit
  })

  test('a signal reaches the one process, whose id is the one seen inside', async () => {
    const machine = await bench().shared()
    const process = await machine.spawn({ ...plain, command: 'bash', args: ['-c', 'echo $$; exec sleep 1000'] })
    let told = ''
    process.onOutput(({ data }) => {
      told += new TextDecoder().decode(data)
    })
    await expect.poll(() => told).toBe(`${process.pid}\n`)
    await process.signal('SIGINT')
    expect((await process.exit).status).toBe('signal: interrupt')
  })

  test('orphans are reaped', async () => {
    const machine = await bench().shared()
    await output(machine, 'for i in 1 2 3 4 5; do (setsid true &) ; done')
    await expect.poll(() => output(machine, "cat /proc/[0-9]*/stat 2>/dev/null | grep -c ') Z ' || true")).toBe('0')
  })
})

describeReal('the base image', () => {
  const bench = useRuntime()

  test('has the running Node, git and a shell, and trusts the given authorities', async () => {
    const machine = await bench().shared()
    expect(await output(machine, 'node --version')).toBe(process.version)
    expect(await output(machine, 'grep -c "d2FybWJveCB0ZXN0IGF1dGhvcml0eQ==" /etc/ssl/certs/ca-certificates.crt')).toBe(
      '1',
    )
    expect(await output(machine, 'stat -c %a /tmp /workspace; test -w /dev/null && echo ok')).toBe('1777\n755\nok')
  })

  test('package shims record what was asked and answer for it', async () => {
    const machine = await bench().shared()
    await output(machine, 'apt-get update && apt-get install -y -o Foo=bar --no-install-recommends fuse s3fs=1.9', {
      user: 'root',
    })
    expect(await output(machine, 'cat /var/lib/warmbox-emulator/packages')).toBe('fuse\ns3fs')
    expect(await output(machine, "dpkg-query -W -f='${Package} ${Status}\\n' fuse s3fs")).toBe(
      'fuse install ok installed\ns3fs install ok installed',
    )
    const unknown = await run(machine, 'dpkg-query -W other')
    expect(unknown).toMatchObject({ stderr: 'dpkg-query: no packages found matching other\n', exit: { exitCode: 1 } })
  })
})
