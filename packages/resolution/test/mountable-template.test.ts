import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import {
  applyMountableSteps,
  createDefaultMountableTemplate,
  DEFAULT_NODE_VERSION,
  mountableTemplateId,
  quoteShell,
} from '@warmbox/resolution'
import { Template, type TemplateBuilder } from 'e2b'
import { describe, expect, onTestFinished, test } from 'vitest'

interface RunStep {
  readonly type: string
  readonly args: readonly [string, string]
}

const stepsOf = async (template: TemplateBuilder): Promise<readonly RunStep[]> => {
  const body: { steps: RunStep[] } = JSON.parse(await Template.toJSON(template, false))
  return body.steps
}

describe('createDefaultMountableTemplate', () => {
  test('names itself by what it installs and how large it is', () => {
    const plain = createDefaultMountableTemplate()
    expect(plain.id).toBe(mountableTemplateId())
    expect(plain.resources).toEqual({ cpuCount: 2, memoryMB: 1024 })
    expect(plain.aptPackages.toSorted()).toEqual(['fuse', 's3fs'])
    const ids = [
      plain,
      createDefaultMountableTemplate({ cpuCount: 4 }),
      createDefaultMountableTemplate({ memoryMB: 2048 }),
      createDefaultMountableTemplate({ nodeVersion: '22.1.0' }),
    ].map(({ id }) => id)
    expect(new Set(ids).size).toBe(4)
    expect(createDefaultMountableTemplate({ cpuCount: 2, nodeVersion: DEFAULT_NODE_VERSION }).id).toBe(plain.id)
  })

  test('gives a builder of its own each time', async () => {
    createDefaultMountableTemplate().template.runCmd('echo mine')
    expect(await stepsOf(createDefaultMountableTemplate().template)).toHaveLength(3)
  })

  test('its steps run as root, and are the same when appended to another builder', async () => {
    const own = await stepsOf(createDefaultMountableTemplate().template)
    expect(own.map(({ type, args: [, user] }) => [type, user])).toEqual(
      Array.from({ length: 3 }, () => ['RUN', 'root']),
    )
    expect(await stepsOf(applyMountableSteps(Template().fromDebianImage()))).toEqual(own)
  })

  test.each([{ nodeVersion: 'lts' }, { nodeVersion: '24' }, { nodeVersion: '1.2.3; id' }, { memoryMB: 1023 }])(
    'refuses %j',
    (options) => {
      expect(() => createDefaultMountableTemplate(options)).toThrow(expect.objectContaining({ code: 'INVALID_SPEC' }))
    },
  )
})

/** A directory of commands that stand in for the machine's: each writes its name and arguments into a journal. */
async function machine(commands: Readonly<Record<string, string>>) {
  const root = await mkdtemp(join(tmpdir(), 'warmbox-steps-'))
  onTestFinished(() => rm(root, { recursive: true }))
  const bin = join(root, 'bin')
  await mkdir(bin)
  const journal = join(root, 'journal')
  await writeFile(journal, '')
  const define = async (name: string, body: string): Promise<void> => {
    const line = `#!/bin/bash\necho "${name} $*" >> ${quoteShell(journal)}\n${body}\n`
    await writeFile(join(bin, name), line)
    await chmod(join(bin, name), 0o755)
  }
  for (const [name, body] of Object.entries(commands)) await define(name, body)
  const run = async (command: string) => {
    const env = { PATH: `${bin}${delimiter}/usr/bin${delimiter}/bin`, TMPDIR: root }
    try {
      const { stdout, stderr } = await promisify(execFile)('bash', ['-c', command], { env })
      return { ok: true, output: stdout + stderr }
    } catch (error) {
      return { ok: false, output: String(Object(error).stderr) }
    }
  }
  return { root, define, run, ran: async () => (await readFile(journal, 'utf8')).trim().split('\n') }
}

const commandOf = async (index: number, options = {}): Promise<string> =>
  (await stepsOf(createDefaultMountableTemplate(options).template))[index]?.args[0] ?? ''

describe('the packages step', () => {
  test('does nothing where they are installed', async () => {
    const { run, ran } = await machine({ 'dpkg-query': "printf 'install ok installed'", 'apt-get': '' })
    expect(await run(await commandOf(0))).toMatchObject({ ok: true })
    expect((await ran()).filter((line) => line.startsWith('apt-get'))).toEqual([])
  })

  test('installs only what is missing', async () => {
    const { run, ran } = await machine({
      'dpkg-query': '[ "${@: -1}" = fuse ] && printf "install ok installed" || exit 1',
      'apt-get': '',
      rm: '',
    })
    expect(await run(await commandOf(0))).toMatchObject({ ok: true })
    expect((await ran()).filter((line) => line.startsWith('apt-get'))).toEqual([
      'apt-get update',
      'apt-get install -y --no-install-recommends s3fs',
    ])
  })

  test('fails where the installation does', async () => {
    const { run } = await machine({ 'dpkg-query': 'exit 1', 'apt-get': '[ "$1" = update ]', rm: '' })
    expect(await run(await commandOf(0))).toMatchObject({ ok: false })
  })
})

describe('the Node.js step', () => {
  const archive = 'an archive'
  const checksum = createHash('sha256').update(archive).digest('hex')
  const name = `node-v${DEFAULT_NODE_VERSION}-linux-x64.tar.gz`
  /** curl writes the list of checksums, or the archive. */
  const curlOf = (list: string): string =>
    [
      'while [ "$1" != --output ]; do shift; done',
      `if [ "$2" = SHASUMS256.txt ]; then printf '%s\\n' ${quoteShell(list)} > "$2"; else printf %s '${archive}' > "$2"; fi`,
    ].join('\n')
  const commands = (list: string) => ({
    node: '[ -e "$TMPDIR/unpacked" ] && echo v24.20.0 || echo v18.0.0',
    uname: 'echo x86_64',
    curl: curlOf(list),
    tar: 'touch "$TMPDIR/unpacked"',
    // The step removes npm and corepack of the image it runs in; here it must not.
    rm: '',
  })

  test('does nothing where the version is there', async () => {
    const { run, ran } = await machine({ node: `echo v${DEFAULT_NODE_VERSION}`, curl: '' })
    expect(await run(await commandOf(1))).toMatchObject({ ok: true })
    expect(await ran()).toEqual(['node --version'])
  })

  test('unpacks the archive of this architecture once its checksum matched', async () => {
    const { run, ran } = await machine(commands(`${'0'.repeat(64)}  other.tar.gz\n${checksum}  ${name}`))
    expect(await run(await commandOf(1))).toMatchObject({ ok: true })
    const lines = await ran()
    const urls = lines.flatMap((line) => line.match(/https:\S+/g) ?? [])
    expect(urls).toEqual([
      `https://nodejs.org/dist/v${DEFAULT_NODE_VERSION}/SHASUMS256.txt`,
      `https://nodejs.org/dist/v${DEFAULT_NODE_VERSION}/${name}`,
    ])
    expect(lines.filter((line) => line.startsWith('tar'))).toMatchObject([expect.stringContaining('-C /usr/local')])
  })

  test.each([
    ['a checksum that does not match', `${'0'.repeat(64)}  ${name}`],
    ['no checksum for the archive', `${checksum}  other.tar.gz`],
    ['an empty list', ''],
  ])('unpacks nothing with %s', async (_what, list) => {
    const { run, ran } = await machine(commands(list))
    expect(await run(await commandOf(1))).toMatchObject({ ok: false })
    expect((await ran()).filter((line) => line.startsWith('tar'))).toEqual([])
  })

  test('fails where another node comes first, and on an architecture without a build', async () => {
    const shadowed = await machine({ ...commands(`${checksum}  ${name}`), node: 'echo v18.0.0' })
    expect(await shadowed.run(await commandOf(1))).toMatchObject({
      ok: false,
      output: expect.stringContaining('another node comes first'),
    })
    const exotic = await machine({ ...commands(''), uname: 'echo riscv64' })
    expect(await exotic.run(await commandOf(1))).toMatchObject({
      ok: false,
      output: expect.stringContaining('no Node.js build for riscv64'),
    })
  })
})

describe('the corepack step', () => {
  test('does nothing where pnpm and yarn are there', async () => {
    const { run, ran } = await machine({ pnpm: '', yarn: '', corepack: '', npm: '' })
    expect(await run(await commandOf(2))).toMatchObject({ ok: true })
    expect(await ran()).toEqual([''])
  })

  test('enables them where one is missing', async () => {
    // The last line of the step writes below /etc; only what it calls before is looked at.
    const { run, ran } = await machine({ pnpm: '', corepack: 'exit 3', npm: '' })
    expect(await run((await commandOf(2)).replaceAll('yarn', 'yarn-of-nobody'))).toMatchObject({ ok: false })
    expect(await ran()).toEqual(['corepack enable'])
  })
})
