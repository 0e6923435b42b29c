import { execFile, spawnSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { readVectors } from './vectors.ts'

const script = fileURLToPath(new URL('fixtures/print-refs.ts', import.meta.url))
const run = promisify(execFile)

interface Printed {
  readonly refs: readonly string[]
  readonly localOrder: readonly string[]
}

const printRefs = async (
  runtime: string,
  flags: readonly string[],
  environment: Readonly<Record<string, string>>,
  directory: string,
): Promise<Printed> => {
  const env = { PATH: process.env['PATH'], HOME: tmpdir(), ...environment }
  const { stdout } = await run(runtime, [...flags, script], { cwd: directory, env })
  const printed: Printed = JSON.parse(stdout)
  return printed
}

const expectedRefs = async (): Promise<readonly string[]> => {
  const { repo, mountable, content } = await readVectors()
  return [...repo, ...mountable, ...content].map(({ ref }) => ref)
}

const fromSource = ['--conditions=@warmbox/source']

describe('the same refs', () => {
  test.each([
    ['C', '/', ['KEY', 'NPM_TOKEN', 'YARN_X']],
    ['en_US.UTF-8', tmpdir(), ['KEY', 'NPM_TOKEN', 'YARN_X']],
    // Lithuanian sorts Y with I, Estonian puts Z before T: a process whose locale took no effect would prove nothing.
    ['lt_LT.UTF-8', '/', ['YARN_X', 'KEY', 'NPM_TOKEN']],
    ['et_EE.UTF-8', tmpdir(), ['KEY', 'NPM_TOKEN', 'YARN_X']],
    ['tr_TR.UTF-8', fileURLToPath(new URL('.', import.meta.url)), ['KEY', 'NPM_TOKEN', 'YARN_X']],
  ])(
    'under LC_ALL=%s in %s',
    async (locale, directory, localOrder) => {
      const environment = { LC_ALL: locale, LANG: locale, TZ: 'Asia/Kathmandu' }
      expect(await printRefs(process.execPath, fromSource, environment, directory)).toEqual({
        refs: await expectedRefs(),
        localOrder,
      })
    },
    60_000,
  )
})

const isPresent = (runtime: string): boolean => spawnSync(runtime, ['--version']).status === 0

describe('the same refs on other runtimes', () => {
  const runtimes = [
    { name: 'Node 22', program: 'node22', flags: fromSource },
    { name: 'Node 26', program: 'node26', flags: fromSource },
    { name: 'Bun', program: 'bun', flags: fromSource },
    { name: 'Deno', program: 'deno', flags: ['run', '--allow-read', ...fromSource] },
  ]
  for (const { name, program, flags } of runtimes) {
    test.skipIf(!isPresent(program))(
      `${name} (skipped where there is no '${program}' on the PATH)`,
      async () => {
        const { refs } = await printRefs(program, flags, {}, tmpdir())
        expect(refs).toEqual(await expectedRefs())
      },
      60_000,
    )
  }
})
