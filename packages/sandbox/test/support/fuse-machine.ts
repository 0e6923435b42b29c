import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { constants } from 'node:fs'
import { access } from 'node:fs/promises'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { FakeSandbox } from './fake-e2b.ts'
import type { FakeProcess } from './fake-process.ts'

/** Why no file system can be mounted here by s3fs without being root of the machine; undefined where one can. */
export async function withoutS3fs(): Promise<string | undefined> {
  try {
    await access('/dev/fuse', constants.R_OK | constants.W_OK)
    // Given several names, `command -v` is content with one.
    const script = 'for name in s3fs nsenter mountpoint; do command -v "$name"; done; mount -t tmpfs tmpfs /mnt'
    execFileSync('unshare', ['-Urmpf', 'bash', '-ec', script], { stdio: 'pipe' })
    return undefined
  } catch (error) {
    return `no s3fs, /dev/fuse or namespaces: ${String(error).split('\n')[0]}`
  }
}

/** Namespaces of their own in which the commands of a fake sandbox run for real, with all it takes to mount. */
export class FuseMachine {
  readonly #keeper: ChildProcess
  readonly #pid: string
  readonly #written = new Set<string>()

  private constructor(keeper: ChildProcess, pid: string) {
    this.#keeper = keeper
    this.#pid = pid
  }

  static async open(): Promise<FuseMachine> {
    const script = [
      'read -r pid _ </proc/self/stat',
      'mount -t proc proc /proc && mount -t tmpfs tmpfs /var/lib && mount -t tmpfs tmpfs /mnt || exit 1',
      'echo "$pid"',
      // Its end is that of everything in here.
      'exec cat',
    ].join('\n')
    const keeper = spawn('unshare', ['-Urmpf', '--kill-child', 'bash', '-c', script], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const lines = createInterface({ input: keeper.stdout })[Symbol.asyncIterator]()
    const { value: pid } = await lines.next()
    if (pid === undefined) throw new Error('No machine came up')
    return new FuseMachine(keeper, pid)
  }

  async close(): Promise<void> {
    const exited = once(this.#keeper, 'exit')
    this.#keeper.stdin?.end()
    await exited
  }

  /** Plays a process of the fake, once what was uploaded before is there. */
  async play(process: FakeProcess, { files }: FakeSandbox): Promise<void> {
    for (const [path, content] of files) {
      const key = `${path}\n${content.toString('base64')}`
      if (this.#written.has(key)) continue
      await this.#run(`cat >${path}`, content)
      this.#written.add(key)
    }
    const { exitCode, stdout, stderr } = await this.#run(process.command)
    process.stdout(stdout).stderr(stderr).exit(exitCode)
  }

  async #run(
    command: string,
    input: Buffer = Buffer.of(),
  ): Promise<{ exitCode: number; stdout: Buffer; stderr: Buffer }> {
    const target = ['--preserve-credentials', '-U', '-m', '-p', '-t', this.#pid]
    const child = spawn('nsenter', [...target, 'bash', '-c', command], { stdio: 'pipe' })
    const output = { stdout: [] as Buffer[], stderr: [] as Buffer[] }
    child.stdout.on('data', (chunk: Buffer) => output.stdout.push(chunk))
    child.stderr.on('data', (chunk: Buffer) => output.stderr.push(chunk))
    child.stdin.end(input)
    const [code] = await once(child, 'close')
    return {
      exitCode: Number(code ?? 137),
      stdout: Buffer.concat(output.stdout),
      stderr: Buffer.concat(output.stderr),
    }
  }
}
