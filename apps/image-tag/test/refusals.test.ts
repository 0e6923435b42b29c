import { symlinkSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { checkout, git, temporary } from './repositories.ts'
import { imageTag, imageTagProcess, namesOf } from './run-image-tag.ts'

const refusal = (code: string, text: string) => ({
  code: 2,
  stdout: '',
  stderr: expect.stringMatching(new RegExp(`${text}[\\s\\S]*\\[${code}\\]\n$`)),
})

test('wrong use ends with 2, one message, a hint and no stack', async () => {
  const ended = await imageTagProcess(['--nonsense'])
  expect(ended).toMatchObject(refusal('USAGE', '--nonsense'))
  expect(ended.stderr).not.toContain('    at ')
})

test.each([
  [['a', 'b'], 'USAGE', 'More than one checkout'],
  [['--env', 'UNSET'], 'USAGE', 'no such variable'],
  [['--env', 'constructor'], 'USAGE', 'no such variable'],
  [['--env', 'A', '--env', 'A=@1'], 'USAGE', 'given twice'],
  [['--env', '1A=@1'], 'USAGE', '--env takes the name'],
  [['--salt-env', 'EMPTY'], 'USAGE', 'empty one'],
  [['--url', ''], 'USAGE', '--url is empty'],
  [['--cpu', '2.0'], 'USAGE', 'whole number'],
  [['--memory', '-2'], 'USAGE', 'memory'],
  [['--extra', '=x'], 'USAGE', '<key>=<text>'],
  [['--extra', 'a=1', '--extra', 'a=2'], 'USAGE', 'given twice'],
  [['--file', '../x'], 'USAGE', 'inside the checkout'],
  [['--file', '/etc/passwd'], 'USAGE', 'inside the checkout'],
  [['--file', 'src/..'], 'USAGE', 'inside the checkout'],
  [['--prefix', 'Acme/widgets'], 'PREFIX_INVALID', 'ghcr.io/acme/widgets'],
])('%j is refused before git is asked', async (args, code, text) => {
  expect(await imageTag(args, { A: '1', EMPTY: '' })).toEqual(refusal(code, text))
})

test.each([
  [['--cpu', '3'], 'CPU_COUNT_INVALID', '--cpu'],
  [['--workdir', 'relative'], 'WORKING_DIRECTORY_INVALID', '--workdir'],
  [['--url', 'git@github.com:acme/widgets.git'], 'CLONE_URL_PROTOCOL', 'https://github.com/acme/widgets.git'],
  [['--file', 'absent'], 'FILE_UNUSABLE', 'no file "absent"'],
  [['--file', 'src'], 'FILE_UNUSABLE', 'no regular file'],
  [['--file', 'link'], 'FILE_UNUSABLE', 'no regular file'],
  [['--against', '/nonexistent'], 'USAGE', 'nothing at /nonexistent'],
])('%j is refused for a checkout', async (args, code, text) => {
  const directory = checkout()
  symlinkSync('src/index.js', join(directory, 'link'))
  const { stdout, stderr, ...ended } = await imageTag([directory, ...args])
  expect({ ...ended, stdout, stderr }).toEqual(refusal(code, text))
})

test('a lockfile that is a link is refused, since what it leads to might not count', async () => {
  const directory = checkout()
  symlinkSync('src/index.js', join(directory, 'yarn.lock'))
  expect(await imageTag([directory])).toEqual(refusal('FILE_UNUSABLE', 'yarn.lock'))
})

test('what is no checkout, has no commit or has no remote is refused with what to do', async () => {
  const directory = temporary()
  expect(await imageTag([join(directory, 'absent')])).toEqual(refusal('NO_CHECKOUT', 'no directory'))
  expect(await imageTag([directory])).toEqual(refusal('NO_CHECKOUT', 'git says: '))
  git(directory, 'init', '--quiet', '--bare', 'bare')
  expect(await imageTag([join(directory, 'bare')])).toEqual(refusal('NO_CHECKOUT', 'git says: '))
  git(directory, 'init', '--quiet')
  expect(await imageTag([directory])).toEqual(refusal('NO_COMMIT', 'no commit yet'))
  const fresh = checkout()
  git(fresh, 'remote', 'rename', 'origin', 'a')
  git(fresh, 'remote', 'add', 'b', 'https://github.com/acme/gadgets.git')
  expect(await imageTag([fresh])).toEqual(refusal('NO_REMOTE', 'more than one remote'))
  git(fresh, 'remote', 'remove', 'a')
  git(fresh, 'remote', 'remove', 'b')
  expect(await imageTag([fresh])).toEqual(refusal('NO_REMOTE', 'has no remote\nGive the URL .* by --url'))
})

test('a remote over ssh, http or from a path is refused with the https form to give, which then names the same', async () => {
  const directory = checkout()
  const names = await namesOf([directory])
  for (const url of [
    'git@github.com:acme/Widgets.git',
    'ssh://git@github.com/acme/Widgets.git',
    'http://github.com/acme/Widgets.git',
  ]) {
    git(directory, 'remote', 'set-url', 'origin', url)
    const text = 'remote origin[^\n]*\n[^\n]*https://github.com/acme/Widgets.git\n[^\n]*--url'
    expect(await imageTag([directory])).toEqual(refusal('REMOTE_UNUSABLE', text))
  }
  expect(await namesOf([directory, '--url', 'https://github.com/acme/Widgets.git'])).toEqual(names)
  git(directory, 'remote', 'set-url', 'origin', '/srv/widgets.git')
  expect(await imageTag([directory])).toEqual(refusal('REMOTE_UNUSABLE', '--url'))
})

test('where git is missing this is said', async () => {
  const ended = await imageTagProcess([checkout()], { environment: { PATH: '/nonexistent' } })
  expect(ended).toEqual(refusal('GIT_FAILED', 'must be on PATH'))
})

test('--help and --version need no checkout', async () => {
  const help = await imageTagProcess(['--help'])
  expect(help).toMatchObject({ code: 0, stderr: '', stdout: expect.stringMatching(/^Usage: image-tag/) })
  expect(await imageTag(['--version'])).toEqual({
    code: 0,
    stdout: 'image-tag 0.0.0, identity scheme 1\n',
    stderr: '',
  })
})
