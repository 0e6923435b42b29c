import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { describe, expect, test } from 'vitest'

import { checkout, clone, git, temporary } from './repositories.ts'
import { imageTag, imageTagProcess, namesOf } from './run-image-tag.ts'

const SECRET = 's3cr3t'

describe('a secret is in no output, record or error', () => {
  test('as a value and as a salt', async () => {
    const directory = checkout()
    const record = join(temporary(), 'record.json')
    const args = [directory, '--env', 'TOKEN', '--env', 'OTHER=@2', '--salt-env', 'SALT']
    const environment = { TOKEN: `${SECRET}-1`, OTHER: `${SECRET}-2`, SALT: `${SECRET}-3` }
    const ended = [
      await imageTagProcess([...args, '--record', record], { environment }),
      await imageTagProcess([...args, '--json', '--against', record], {
        environment: { ...environment, TOKEN: `${SECRET}-4` },
      }),
      await imageTag([...args, '--against', record], { ...environment, SALT: `${SECRET}-5` }),
      await imageTag([...args, '--against', clone(directory)], environment),
      await imageTag(args, { ...environment, TOKEN: `${SECRET}\0` }),
      await imageTag(args, { ...environment, TOKEN: SECRET.repeat(10_000) }),
      await imageTag([...args, '--cpu', '3'], environment),
    ]
    expect(ended.map(({ code }) => code)).toEqual([0, 1, 1, 0, 2, 2, 2])
    expect(JSON.stringify(ended)).not.toContain(SECRET)
    expect(readFileSync(record, 'utf8')).not.toContain(SECRET)
  })

  test('behind an option where it should not be', async () => {
    const directory = checkout()
    for (const args of [
      ['--env', `TOKEN=${SECRET}`],
      ['--env', 'TOKEN=', SECRET],
      ['--env', 'TOKEN=@', directory, SECRET],
      [`--token=${SECRET}`],
      [`--json=${SECRET}`],
      ['--url', `https://user:${SECRET}@github.com/acme/widgets.git`],
      ['--url', `ssh://user:${SECRET}@github.com/acme/widgets.git`],
      ['--cpu', SECRET],
      ['--extra', SECRET],
      ['--file', `/${SECRET}`],
    ]) {
      const ended = await imageTag(args)
      expect(ended, args[0]).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(/\n.*\[[A-Z_]+\]\n$/) })
      expect(ended.stderr, args[0]).not.toContain(SECRET)
    }
  })

  test('in the URL of the remote: left out with a word where its end is plain, refused otherwise', async () => {
    const directory = checkout()
    const names = await namesOf([directory])
    for (const user of [`gitlab-ci-token:${SECRET}`, SECRET, `${SECRET}:x-oauth-basic`, `:${SECRET}`]) {
      git(directory, 'remote', 'set-url', 'origin', `https://${user}@github.com/acme/Widgets.git`)
      expect(await namesOf([directory])).toEqual(names)
      const { stderr } = await imageTag([directory, '--json'])
      expect(stderr).toContain('credentials, which were left out')
      expect(stderr).not.toContain(SECRET)
    }
    for (const url of [
      `https://user:pass/${SECRET}@github.com/acme/Widgets.git`,
      `https://user:${SECRET}@more@github.com/acme/Widgets.git`,
      `https://user:${SECRET}?@github.com/acme/Widgets.git`,
      `http://user:${SECRET}@github.com/acme/Widgets.git`,
      `ssh://user:${SECRET}@github.com/acme/Widgets.git`,
      `user:${SECRET}@github.com:acme/Widgets.git`,
    ]) {
      git(directory, 'remote', 'set-url', 'origin', url)
      const { code, stdout, stderr } = await imageTag([directory])
      expect({ code, stdout }, url).toEqual({ code: 2, stdout: '' })
      expect(stderr, url).toContain('--url')
      expect(stderr, url).not.toContain(SECRET)
    }
  })

  test('in a file given as a record that is none', async () => {
    const directory = checkout()
    const file = join(temporary(), 'other.json')
    for (const text of [SECRET, `{"record":1,"identity":"${SECRET}"}`, `{"${SECRET}":`]) {
      writeFileSync(file, text)
      const { code, stderr } = await imageTag([directory, '--against', file])
      expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('[RECORD_INVALID]') })
      expect(stderr).not.toContain(SECRET)
    }
  })
})

test('git is handed none of them', async () => {
  const directory = checkout()
  // What a checkout makes git run on reading it sees the environment git got.
  git(directory, 'config', 'filter.spy.clean', `env >>${join(directory, '.git/seen')}; cat`)
  mkdirSync(join(directory, '.git/info'))
  writeFileSync(join(directory, '.git/info/attributes'), '* filter=spy\n')
  writeFileSync(join(directory, 'src/index.js'), 'b')
  await imageTagProcess([directory, '--env', 'TOKEN'], { environment: { TOKEN: SECRET, GIT_TOKEN: SECRET } })
  const seen = readFileSync(join(directory, '.git/seen'), 'utf8')
  expect(seen).toContain('GIT_TERMINAL_PROMPT=0')
  expect(seen).not.toContain(SECRET)
})
