import { Template } from 'e2b'
import { describe, expect, test } from 'vitest'
import { createRepoTemplate, type CredentialForms, resolveHead, resolveHeadWithGit } from '@warmbox/repo-template'
import { serve, token, widgets } from './support/fixtures.ts'
import { runSteps } from './support/run-steps.ts'

const specOf = async (cloneUrl: string, credentialForms?: CredentialForms) => {
  const deferred = createRepoTemplate({
    getRepositoryAccess: () => Promise.resolve({ cloneUrl, authorization: { scheme: 'bearer', token } }),
    sha: 'a'.repeat(40),
    credentialForms,
  })
  if (deferred === undefined) throw new Error('no spec')
  return deferred.resolveSpec()
}

test.each([
  ['https://github.com/o/r', 'x-access-token'],
  ['https://acme.ghe.com/o/r', 'x-access-token'],
  ['https://gitlab.com/g/s/r', 'oauth2'],
  ['https://bitbucket.org/o/r', 'x-token-auth'],
  ['https://dev.azure.com/o/p/_git/r', 'pat'],
  ['https://acme.visualstudio.com/p/_git/r', 'pat'],
  ['https://codeberg.org/o/r', 'x-access-token'],
  ['https://gitlab.example.com/o/r', 'x-access-token'],
  // Not GitLab, whatever it calls itself.
  ['https://gitlab.com.example.com/o/r', 'x-access-token'],
  ['https://notvisualstudio.com/o/r', 'x-access-token'],
  ['https://constructor/o/r', 'x-access-token'],
])('%s gets the token as the password of %s', async (cloneUrl, user) => {
  const definition = await Template.toJSON((await specOf(cloneUrl)).template, false)
  expect(definition).toContain(`"${Buffer.from(`${user}:${token}`).toString('base64')}"`)
  expect(definition).toContain('Authorization: Basic')
})

const encoded = (text: string) => `"${Buffer.from(text).toString('base64')}"`

test('the caller’s word goes before the table, and that for a port before that for a host', async () => {
  const forms: CredentialForms = {
    'GitLab.com': { scheme: 'basic', user: 'gitlab-ci-token' },
    'git.example.com': { scheme: 'bearer' },
    'git.example.com:8443': { scheme: 'basic', user: 'me' },
  }
  const definitionOf = async (url: string) => Template.toJSON((await specOf(url, forms)).template, false)
  expect(await definitionOf('https://gitlab.com/o/r')).toContain(encoded(`gitlab-ci-token:${token}`))
  expect(await definitionOf('https://git.example.com:8443/o/r')).toContain(encoded(`me:${token}`))
  const bearer = await definitionOf('https://git.example.com/o/r')
  expect(bearer).toContain(encoded(token))
  expect(bearer).toContain('Authorization: Bearer')
})

describe('a host that takes no other form', () => {
  const forms: readonly [string, CredentialForms, string][] = [
    [
      'another user',
      { localhost: { scheme: 'basic', user: 'oauth2' } },
      Buffer.from(`oauth2:${token}`).toString('base64'),
    ],
    ['bearer', { localhost: { scheme: 'bearer' } }, token],
  ]
  test.each(forms)('%s: lookup, git and clone present it', async (_name, credentialForms, presented) => {
    const given = await widgets({ user: 'oauth2' })
    const certificateAuthority = given.server.certificateAuthority
    const found = { status: 'found', sha: given.sha }
    const options = { certificateAuthority, timeoutMs: 60_000, credentialForms }
    expect(await resolveHead(given.access, options)).toMatchObject(found)
    expect(await resolveHeadWithGit(given.access, options)).toMatchObject(found)
    const deferred = createRepoTemplate({
      getRepositoryAccess: () => Promise.resolve(given.access),
      certificateAuthority,
      credentialForms,
    })
    const spec = await deferred?.resolveSpec()
    if (spec === undefined) throw new Error('no spec')
    await runSteps(spec.template, given.server)
    expect(new Set(given.server.requests.map(({ authorization }) => authorization?.split(' ')[1]))).toEqual(
      new Set([presented]),
    )
  })

  test('the default is refused there', async () => {
    const given = await widgets({ user: 'oauth2' })
    const head = await resolveHead(given.access, { certificateAuthority: given.server.certificateAuthority })
    expect(head).toMatchObject({ status: 'refused', code: 'UNAUTHORIZED' })
  })
})

const noForms: readonly [object, string, string][] = [
  [[], 'OPTION_TYPE', 'credentialForms'],
  [{ h: 'oauth2' }, 'OPTION_TYPE', 'credentialForms.h'],
  [{ h: { scheme: 'digest' } }, 'OPTION_INVALID', 'credentialForms.h'],
  [{ h: { scheme: 'basic' } }, 'OPTION_INVALID', 'credentialForms.h'],
  [{ h: { scheme: 'basic', user: 'a:b' } }, 'OPTION_INVALID', 'credentialForms.h'],
  [{ h: { scheme: 'basic', user: 'a\nb' } }, 'OPTION_INVALID', 'credentialForms.h'],
]

test.each(noForms)('%o is refused at once', (credentialForms, code, field) => {
  const given: object = { credentialForms }
  expect(() => createRepoTemplate({ getRepositoryAccess: undefined, ...given })).toThrow(
    expect.objectContaining({ code, field }),
  )
})

test('how a token is presented renames nothing', async () => {
  const url = 'https://git.example.com/o/r'
  expect((await specOf(url, { 'git.example.com': { scheme: 'bearer' } })).ref).toBe((await specOf(url)).ref)
})

test('a bearer token is masked in what is told', async () => {
  const server = await serve({ repositories: {} })
  const spec = await specOf(server.cloneUrl('r'), { localhost: { scheme: 'bearer' } })
  expect(spec.redact).toEqual([token])
})
