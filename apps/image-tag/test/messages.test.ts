import { chownSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { checkout, git, temporary, write } from './repositories.ts'
import { imageTag, imageTagProcess } from './run-image-tag.ts'

const library = /cpuCount|memoryMB|buildEnv|workingDirectory|cloneUrl|setupCommand|extra\.|E2B|on their own|Pass /

test('an input that is refused is called by its option, with what to write for it', async () => {
  const directory = checkout()
  const environment = { LONG: 'x'.repeat(40_000), NUL: '\0', A: '1' }
  const long = 'x'.repeat(40_000)
  for (const [args, text] of [
    [['--cpu', '3'], '--cpu .*\n.*even number up to 32'],
    [['--memory', '1'], '--memory .*\n.*even number'],
    [['--workdir', 'relative'], '--workdir .*\n.*/home/user/widgets'],
    [['--env', 'LONG'], '--env LONG .*long'],
    [['--env', 'NUL'], '--env NUL .*control character'],
    [['--salt-env', 'LONG'], '--salt-env .*long'],
    [['--setup', long], '--setup .*long'],
    [['--base', long], '--base .*long'],
    [['--extra', `os=${long}`], '--extra os .*long'],
    [['--extra', `${long}=1`], '--extra .*long'],
    [['--env', `A=@${long}`], '--env A .*long'],
    [Array.from({ length: 300 }, (_, index) => `--extra=${index}=`), '--extra .*too often'],
    [['--url', 'https://user:pass@github.com/acme/widgets'], '--url .*credentials\n.*without'],
    [['--url', 'https://github.com/acme/widgets?x'], '--url .*query'],
    [['--url', 'https://github.com/acme/widgets#x'], '--url .*fragment'],
    [['--url', 'https://github.com:0/acme/widgets'], '--url .*port'],
    [['--url', 'https://github.com/'], '--url .*repository'],
    [['--url', 'https://git hub.com/acme/widgets'], '--url .*character'],
    [['--url', 'git@github.com:acme/widgets.git'], '--url .*https URL\n.*https://github.com/acme/widgets.git'],
  ] as const) {
    const { code, stdout, stderr } = await imageTag([directory, ...args], environment)
    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: '',
      stderr: expect.stringMatching(new RegExp(`^${text}[^]*\\[[A-Z_]+\\]\n$`)),
    })
    expect(stderr).not.toMatch(library)
  }
  git(directory, 'remote', 'set-url', 'origin', 'https://github.com/acme/widgets?x')
  const { stderr } = await imageTag([directory])
  expect(stderr).toMatch(/^The URL of the remote origin .*query/)
  expect(stderr).not.toMatch(library)
})

test.each([
  [['--', '--foo'], /^There is no option --foo\.\n.*\.\/--foo/],
  [['--foo=x'], /^There is no option --foo\./],
  [['-x'], /^There is no option -x\./],
  [['--setup', '--foo'], /^--setup .*dash.*\n.*--setup=/],
  [['--setup'], /^--setup takes a text/],
  [['--json=x'], /^--json takes no value/],
  [['--base', 'a', '--base', 'b'], /^--base was given twice/],
  [['--cpu', '2', '--cpu=4'], /^--cpu was given twice/],
  [['--workdir', '/a', '--workdir', '/a'], /^--workdir was given twice/],
  [['--extra', 'a=1', '--extra', 'a=2'], /^--extra a was given twice\.\n(?!--help)/],
  [['--env', 'A=@1', '--env', 'A=@1'], /^--env A was given twice\.\n(?!--help)/],
  [['--env', 'bad-name'], /^--env takes the name of a variable.*\n.*letters, digits and _/],
  [['--env', 'bad-name=x'], /^--env takes the name of a variable/],
  [['--env', 'UNSET'], /^--env UNSET: .*\n.*UNSET=@<version>/],
  [['--salt-env', 'UNSET'], /^--salt-env UNSET: .*\n(?!--help).*Set it/],
  [[''], /^The checkout is an empty text/],
  [['--prefix', 'h:99999/x'], /^--prefix .*\[PREFIX_INVALID\]/s],
  [['--prefix', 'h:0/x'], /^--prefix .*\[PREFIX_INVALID\]/s],
])('%j is answered by what can be written instead', async (args, text) => {
  const { code, stdout, stderr } = await imageTag(args)
  expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: expect.stringMatching(text) })
})

test('a file that is not of the checkout is refused by where it really lies', async () => {
  const directory = checkout()
  const aside = temporary()
  write(aside, { 'env.sh': '1' })
  symlinkSync(aside, join(directory, 'd2'))
  symlinkSync('src', join(directory, 'd3'))
  for (const path of ['d2/env.sh', '.git/config', '.GIT/config', 'src/../.git/HEAD']) {
    expect(await imageTag([directory, '--file', path]), path).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/\[(?:FILE_UNUSABLE|USAGE)\]\n$/),
    })
  }
  expect((await imageTag([directory, '--file', 'd3/index.js'])).code).toBe(0)
  // A lockfile that git knows, where its directory has become a link to elsewhere.
  write(directory, { 'part/yarn.lock': '' })
  git(directory, 'add', 'part')
  rmSync(join(directory, 'part'), { recursive: true })
  write(aside, { 'yarn.lock': 'x' })
  symlinkSync(aside, join(directory, 'part'))
  expect((await imageTag([directory])).stderr).toContain('[FILE_UNUSABLE]')
})

test('a remote taken for want of an origin is told', async () => {
  const directory = checkout()
  git(directory, 'remote', 'rename', 'origin', 'upstream')
  expect((await imageTag([directory])).stderr).toMatch(/no remote origin.* upstream .*--url/)
})

test('text is true and whole', async () => {
  const directory = checkout()
  const same = await imageTagProcess(['--against', '.'], { cwd: directory })
  expect(same).toMatchObject({ code: 0, stderr: 'The same image as .\n' })
  const file = await imageTag([join(directory, 'src/index.js')])
  expect(file.stderr).toMatch(/index\.js is no directory\n/)
  const missing = await imageTagProcess([directory], { environment: { PATH: '/nonexistent' } })
  expect(missing.stderr).toMatch(/^git was not found\n/)
})

test.skipIf(process.getuid?.() !== 0)(
  'a checkout of another user is read where the environment says it is safe (needs root)',
  async () => {
    const directory = checkout()
    chownSync(directory, 12_345, 12_345)
    expect((await imageTagProcess([directory])).stderr).toContain('dubious ownership')
    const environment = {
      GIT_CONFIG_COUNT: '2',
      GIT_CONFIG_KEY_0: 'core.bare',
      GIT_CONFIG_VALUE_0: 'true',
      GIT_CONFIG_KEY_1: 'Safe.Directory',
      GIT_CONFIG_VALUE_1: directory,
    }
    expect(await imageTagProcess([directory], { environment })).toMatchObject({ code: 0, stderr: '' })
  },
)
