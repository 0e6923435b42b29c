import { execFile } from 'node:child_process'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  createRepoTemplate,
  type CredentialForm,
  resolveHead,
  type RepoTemplateOptions,
  syncRepository,
} from '@warmbox/repo-template'
import { serve, temporaryDirectory, widgets, type Widgets } from './support/fixtures.ts'
import { ownSteps, runSteps } from './support/run-steps.ts'

const execute = promisify(execFile)

/** Each would leave a file behind in the home of whatever shell took it for code. */
const hostile: readonly string[] = [
  '$(touch ~/canary)',
  '`touch ~/canary`',
  "'; touch ~/canary; '",
  '"; touch ~/canary; "',
  '| touch ~/canary',
  '&& touch ~/canary #',
  '\ntouch ~/canary\n',
  '--upload-pack=touch ~/canary',
  '-c core.sshCommand=touch',
  '${IFS}$(touch${IFS}~/canary)',
  'žluťoučký 🐎 \u2028 $(touch ~/canary)',
]

const templateOf = async (given: Widgets, options: Partial<RepoTemplateOptions>) => {
  const deferred = createRepoTemplate({
    getRepositoryAccess: () => Promise.resolve(given.access),
    certificateAuthority: given.server.certificateAuthority,
    sha: given.sha,
    ...options,
  })
  if (deferred === undefined) throw new Error('no spec')
  return (await deferred.resolveSpec()).template
}

test('values of build variables are data to every step', async () => {
  const given = await widgets()
  const buildEnv = Object.fromEntries(hostile.map((value, index) => [`V${index}`, value]))
  const template = await templateOf(given, { buildEnv, setupCommand: 'env -0 > ../seen' })
  const { home } = await runSteps(template, given.server)
  expect(await readdir(home)).not.toContain('canary')
  const seen = (await readFile(join(home, 'seen'), 'utf8')).split('\0')
  expect(seen).toEqual(expect.arrayContaining(Object.entries(buildEnv).map(([name, value]) => `${name}=${value}`)))
})

test('a setup command cannot leave its step, whatever its quoting', async () => {
  const given = await widgets()
  // Code of the caller's, so it may run; what surrounds it must survive. Each is one argument to a shell of its own.
  const setupCommand = ['echo "it\'s" > ../one # \'', 'cat <<EOF > ../two\nbody\nEOF', 'exit 0; false']
  const template = await templateOf(given, { setupCommand })
  const { home } = await runSteps(template, given.server)
  expect(await readFile(join(home, 'one'), 'utf8')).toBe("it's\n")
  expect(await readFile(join(home, 'two'), 'utf8')).toBe('body\n')
  expect(JSON.parse(await readFile(join(home, '.warmbox', 'template.json'), 'utf8'))).toMatchObject({ sha: given.sha })
})

test('a setup command that is no shell text fails its own step', async () => {
  const given = await widgets()
  const template = await templateOf(given, { setupCommand: ["printf %s '", 'touch ../canary'] })
  await expect(runSteps(template, given.server)).rejects.toMatchObject({
    log: expect.stringMatching(/warmbox: setup 1 of 2 failed with exit code 2\n$/),
  })
})

test.each(["o/it's(x);touch&canary", 'o/$(touch%20canary)', 'o/-x', "o/a'b"])(
  'the repository path %s reaches git and the shell as one word',
  async (path) => {
    const given = await widgets()
    const server = await serve({ repositories: { [decodeURIComponent(path)]: given.repository.path } })
    const template = await templateOf({ ...given, access: { cloneUrl: server.cloneUrl(path) } }, {})
    const { home } = await runSteps(template, server)
    const record: unknown = JSON.parse(await readFile(join(home, '.warmbox', 'template.json'), 'utf8'))
    expect(record).toMatchObject({ sha: given.sha })
    expect(await readdir(home)).not.toContain('canary')
  },
)

test('a repository path no URL may hold is refused', async () => {
  const given = await widgets()
  const access = { cloneUrl: `${given.server.url}/o/\`touch canary\`` }
  await expect(templateOf({ ...given, access }, {})).rejects.toMatchObject({ code: 'CLONE_URL_CHARACTER' })
})

test.each<[string, string, CredentialForm]>([
  ['a token', '\'$(touch${IFS}~/canary)`touch${IFS}~/canary`"\\;&|#', { scheme: 'basic', user: 'x-access-token' }],
  ['a token as bearer', '-e\'$(touch${IFS}~/canary)`touch${IFS}~/canary`"\\;&|#%s', { scheme: 'bearer' }],
  ['a user', 'plain', { scheme: 'basic', user: '-n\'$(touch${IFS}~/canary)`id`"\\;%s' }],
])('%s of shell code is presented as it is', async (_name, token, form) => {
  const given = await widgets({ token, ...(form.scheme === 'basic' ? { user: form.user } : {}) })
  const access = { ...given.access, authorization: { scheme: 'bearer' as const, token } }
  const template = await templateOf({ ...given, access }, { credentialForms: { localhost: form } })
  const { home } = await runSteps(template, given.server)
  expect(await readdir(home)).not.toContain('canary')
  expect(given.server.requests.filter(({ status }) => status !== 200)).toEqual([])
  const presented = given.server.requests.map(({ authorization = '' }) => authorization.split(' ')[1] ?? '')
  const expected = form.scheme === 'bearer' ? token : Buffer.from(`${form.user}:${token}`).toString('base64')
  expect(new Set(presented)).toEqual(new Set([expected]))
})

test('branch names git accepts are looked up and cloned as they are', async () => {
  const given = await widgets()
  const branches = ['a;touch${IFS}canary', "it's", '$(touch)', 'x&y', 'žluť/🐎']
  for (const branch of branches) {
    const sha = await given.repository.commit({ branch }, { branch })
    const head = await resolveHead(given.access, { branch, certificateAuthority: given.server.certificateAuthority })
    expect(head).toMatchObject({ status: 'found', sha })
    const deferred = createRepoTemplate({
      getRepositoryAccess: () => Promise.resolve(given.access),
      resolveHead: () => Promise.resolve({ status: 'unreachable', reason: 'offline' }),
      branch,
    })
    const spec = await deferred?.resolveSpec()
    if (spec === undefined) throw new Error('no spec')
    const { home } = await runSteps(spec.template, given.server)
    expect(await readFile(join(home, 'widgets', 'branch'), 'utf8')).toBe(branch)
  }
})

test('a branch or tag name git would not take is refused before anything else happens', () => {
  const part = fc.stringMatching(/^[a-z0-9]{1,8}$/)
  const wrong = fc.constantFrom(
    ' ',
    '~',
    '^',
    ':',
    '?',
    '*',
    '[',
    '\\',
    '..',
    '@{',
    '//',
    '\0',
    '\n',
    '\t',
    '\u007f',
    '/.',
  )
  const names = fc.oneof(
    fc.tuple(part, wrong, part).map((parts) => parts.join('')),
    part.map((name) => `-${name}`),
    part.map((name) => `/${name}`),
    part.map((name) => `${name}/`),
    part.map((name) => `${name}.lock`),
    fc.constant(''),
  )
  fc.assert(
    fc.property(names, fc.constantFrom('branch', 'tag'), (name, option) => {
      const options = { getRepositoryAccess: undefined, [option]: name }
      expect(() => createRepoTemplate(options)).toThrow(
        expect.objectContaining({ code: 'OPTION_INVALID', field: option }),
      )
    }),
  )
})

test('working directories that are accepted are one word, and the rest is refused', async () => {
  const given = await widgets()
  for (const text of hostile) {
    const create = () => createRepoTemplate({ getRepositoryAccess: undefined, workingDirectory: `/home/user/${text}` })
    expect(create).toThrow(expect.objectContaining({ code: 'WORKING_DIRECTORY_INVALID' }))
  }
  const template = await templateOf(given, { workingDirectory: '/home/user/-n/a+b@c=d,e' })
  const { home } = await runSteps(template, given.server)
  expect(await readdir(join(home, '-n', 'a+b@c=d,e'))).toContain('README.md')
})

test('every build variable arrives as it was given', async () => {
  const given = await widgets()
  // Other control characters are refused with the identity.
  const anyText = fc.string({
    unit: fc.oneof(
      fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }),
      fc.constantFrom('\n', '$', "'", '"', '\\', '`'),
    ),
  })
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(fc.stringMatching(/^V[A-Z0-9_]{0,8}$/), anyText, {
        minKeys: 1,
        maxKeys: 5,
      }),
      async (values) => {
        const steps = await ownSteps(await templateOf(given, { buildEnv: values, setupCommand: ['env -0', 'true'] }))
        const encoded = steps.find(({ type }) => type === 'ENV')?.args ?? []
        // Nothing for E2B to expand, quote or split.
        expect(encoded.filter((text) => !/^[\w+/=]*$/.test(text))).toEqual([])
        const script = steps.filter(({ type }) => type === 'RUN').at(-2)?.args[0] ?? ''
        const env = Object.fromEntries(
          encoded.flatMap((name, index) => (index % 2 === 0 ? [[name, encoded[index + 1] ?? '']] : [])),
        )
        const home = await temporaryDirectory()
        const { stdout } = await execute('bash', ['-c', script.replaceAll('/home/user/widgets', home)], {
          env: { PATH: process.env['PATH'], ...env },
        })
        const seen = stdout.split('\0')
        expect(seen).toEqual(expect.arrayContaining(Object.entries(values).map(([name, value]) => `${name}=${value}`)))
      },
    ),
    { numRuns: 8 },
  )
})

test('a sync takes nothing for code either', async () => {
  const given = await widgets()
  const directory = await temporaryDirectory()
  const authority = join(directory, 'authority.pem')
  await writeFile(authority, given.server.certificateAuthority)
  const sandbox = {
    executeCommand: async (command: string, args: string[] = [], options: { env?: Record<string, string> } = {}) => {
      const { stdout, stderr } = await execute(command, args, {
        cwd: directory,
        env: { PATH: process.env['PATH'], HOME: directory, GIT_SSL_CAINFO: authority, ...options.env },
      })
      return { exitCode: 0, stdout, stderr, success: true }
    },
  }
  const result = await syncRepository(sandbox, {
    getRepositoryAccess: () => Promise.resolve(given.access),
    certificateAuthority: given.server.certificateAuthority,
    workingDirectory: join(directory, '-x', 'widgets'),
    buildEnv: Object.fromEntries(hostile.map((value, index) => [`V${index}`, value])),
    setupCommand: 'env -0 > ../seen',
  })
  expect(result).toMatchObject({ cold: true, to: given.sha })
  expect(await readdir(directory)).not.toContain('canary')
  const seen = (await readFile(join(directory, '-x', 'seen'), 'utf8')).split('\0')
  expect(seen).toEqual(expect.arrayContaining(hostile.map((value, index) => `V${index}=${value}`)))
})
