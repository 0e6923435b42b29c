import { type CloneUrl, IdentityError, type IdentityErrorCode, parseCloneUrl } from '@warmbox/identity'
import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'

const refusal = (url: string): IdentityError => {
  try {
    parseCloneUrl(url)
  } catch (error) {
    if (error instanceof IdentityError) return error
    throw error
  }
  throw new Error('was accepted')
}

type Accepted = readonly [
  url: string,
  expected: Pick<CloneUrl, 'canonical' | 'host' | 'owner' | 'repository' | 'directory'> & Partial<CloneUrl>,
]

const accepted: readonly Accepted[] = [
  [
    'https://github.com/acme/widgets.git',
    {
      canonical: 'https://github.com/acme/widgets',
      cloneUrl: 'https://github.com/acme/widgets.git',
      host: 'github.com',
      hostname: 'github.com',
      port: undefined,
      path: 'acme/widgets',
      owner: 'acme',
      repository: 'widgets',
      directory: 'widgets',
      origin: 'https://github.com',
    },
  ],
  [
    'HTTPS://GitHub.COM:443/Acme/Widgets///',
    {
      canonical: 'https://github.com/Acme/Widgets',
      cloneUrl: 'https://GitHub.COM:443/Acme/Widgets///',
      host: 'github.com',
      port: undefined,
      owner: 'Acme',
      repository: 'Widgets',
      directory: 'Widgets',
    },
  ],
  [
    'https://gitlab.com/group/sub/deeper/project.git',
    {
      canonical: 'https://gitlab.com/group/sub/deeper/project',
      host: 'gitlab.com',
      owner: 'group/sub/deeper',
      repository: 'project',
      directory: 'project',
    },
  ],
  [
    'https://bitbucket.org/team/repo.git',
    {
      canonical: 'https://bitbucket.org/team/repo',
      host: 'bitbucket.org',
      owner: 'team',
      repository: 'repo',
      directory: 'repo',
    },
  ],
  [
    'https://org@dev.azure.com/org/My%20Proj/_git/repo',
    {
      canonical: 'https://dev.azure.com/org/My%20Proj/_git/repo',
      cloneUrl: 'https://dev.azure.com/org/My%20Proj/_git/repo',
      host: 'dev.azure.com',
      path: 'org/My%20Proj/_git/repo',
      owner: 'org/My Proj',
      repository: 'repo',
      directory: 'repo',
    },
  ],
  [
    'https://org.visualstudio.com/DefaultCollection/_git/My%20Repo',
    {
      canonical: 'https://org.visualstudio.com/DefaultCollection/_git/My%20Repo',
      host: 'org.visualstudio.com',
      owner: 'DefaultCollection',
      repository: 'My Repo',
      directory: 'My-Repo',
    },
  ],
  [
    'https://git.example.com:8443/gitea/acme/widgets.git/',
    {
      canonical: 'https://git.example.com:8443/gitea/acme/widgets',
      cloneUrl: 'https://git.example.com:8443/gitea/acme/widgets.git/',
      host: 'git.example.com:8443',
      hostname: 'git.example.com',
      port: 8443,
      owner: 'gitea/acme',
      repository: 'widgets',
      directory: 'widgets',
      origin: 'https://git.example.com:8443',
    },
  ],
  [
    'https://localhost:4321/acme/widgets.git',
    {
      canonical: 'https://localhost:4321/acme/widgets',
      host: 'localhost:4321',
      port: 4321,
      owner: 'acme',
      repository: 'widgets',
      directory: 'widgets',
    },
  ],
  [
    'https://[2001:DB8:0:0:0::1]:8443/acme/widgets',
    {
      canonical: 'https://[2001:db8::1]:8443/acme/widgets',
      cloneUrl: 'https://[2001:DB8:0:0:0::1]:8443/acme/widgets',
      host: '[2001:db8::1]:8443',
      hostname: '[2001:db8::1]',
      port: 8443,
      owner: 'acme',
      repository: 'widgets',
      directory: 'widgets',
    },
  ],
  [
    'https://127.0.0.1/widgets.git',
    {
      canonical: 'https://127.0.0.1/widgets',
      host: '127.0.0.1',
      owner: '',
      repository: 'widgets',
      directory: 'widgets',
    },
  ],
  [
    'https://git.sr.ht/%7euser/w%2dx',
    {
      canonical: 'https://git.sr.ht/~user/w-x',
      cloneUrl: 'https://git.sr.ht/%7euser/w%2dx',
      host: 'git.sr.ht',
      owner: '~user',
      repository: 'w-x',
      directory: 'w-x',
    },
  ],
  [
    'https://xn--bcher-kva.example/acme/%e2%98%83',
    {
      canonical: 'https://xn--bcher-kva.example/acme/%E2%98%83',
      host: 'xn--bcher-kva.example',
      owner: 'acme',
      repository: '☃',
      directory: '_-',
    },
  ],
  [
    'https://github.com/acme/.github',
    {
      canonical: 'https://github.com/acme/.github',
      host: 'github.com',
      owner: 'acme',
      repository: '.github',
      directory: '_.github',
    },
  ],
  [
    "https://h.example/a/b+c(d)'e",
    {
      canonical: "https://h.example/a/b+c(d)'e",
      host: 'h.example',
      owner: 'a',
      repository: "b+c(d)'e",
      directory: 'b-c-d-e',
    },
  ],
]

describe('parseCloneUrl', () => {
  test.each(accepted)('takes %s apart', (url, expected) => {
    expect(parseCloneUrl(url)).toMatchObject(expected)
  })

  const refused: readonly (readonly [url: string, code: IdentityErrorCode])[] = [
    ['', 'INPUT_REQUIRED'],
    [' https://h.example/o/r', 'CLONE_URL_CHARACTER'],
    ['https://h.example/o/r ', 'CLONE_URL_CHARACTER'],
    ['https://h.example/o/r\n', 'CLONE_URL_CHARACTER'],
    ['https://h.ex\tample/o/r', 'CLONE_URL_CHARACTER'],
    ['https://h.example\\o\\r', 'CLONE_URL_CHARACTER'],
    ['https://bücher.example/o/r', 'CLONE_URL_CHARACTER'],
    ['https://gıthub.com/o/r', 'CLONE_URL_CHARACTER'],
    ['https://h.example/o/`id`', 'CLONE_URL_CHARACTER'],
    ['https://h.example/o/{r}', 'CLONE_URL_CHARACTER'],
    ['https://h.example/o/r\0', 'CLONE_URL_CHARACTER'],
    ['http://h.example/o/r', 'CLONE_URL_PROTOCOL'],
    ['ssh://git@h.example:2222/o/r', 'CLONE_URL_PROTOCOL'],
    ['git://h.example/o/r', 'CLONE_URL_PROTOCOL'],
    ['file:///srv/r.git', 'CLONE_URL_PROTOCOL'],
    ['ftp://h.example/o/r', 'CLONE_URL_PROTOCOL'],
    ['git@h.example:o/r.git', 'CLONE_URL_PROTOCOL'],
    ['/srv/r.git', 'CLONE_URL_PROTOCOL'],
    ['./r', 'CLONE_URL_PROTOCOL'],
    ['C:/r', 'CLONE_URL_PROTOCOL'],
    ['acme/widgets', 'CLONE_URL_PROTOCOL'],
    ['https:/h.example/o/r', 'CLONE_URL_PROTOCOL'],
    ['ext::sh', 'CLONE_URL_PROTOCOL'],
    ['git+https://h.example/o/r', 'CLONE_URL_PROTOCOL'],
    ['xhttps://h.example/o/r', 'CLONE_URL_PROTOCOL'],
    ['https://user:secret@h.example/o/r', 'CLONE_URL_CREDENTIALS'],
    ['https://user:@h.example/o/r', 'CLONE_URL_CREDENTIALS'],
    ['https://:secret@h.example/o/r', 'CLONE_URL_CREDENTIALS'],
    ['https://a@b@h.example/o/r', 'CLONE_URL_CREDENTIALS'],
    ['https://user:se/cret@h.example/o/r', 'CLONE_URL_CREDENTIALS'],
    ['https://user:12/cret@h.example/o/r', 'CLONE_URL_CREDENTIALS'],
    ['https://user:se?cret@h.example/o/r', 'CLONE_URL_CREDENTIALS'],
    ['https://user:se#cret@h.example/o/r', 'CLONE_URL_CREDENTIALS'],
    ['https:///o/r', 'CLONE_URL_HOST'],
    ['https://user@/o/r', 'CLONE_URL_HOST'],
    ['https://h.example./o/r', 'CLONE_URL_HOST'],
    ['https://h..example/o/r', 'CLONE_URL_HOST'],
    ['https://-h.example/o/r', 'CLONE_URL_HOST'],
    ['https://h%2eexample/o/r', 'CLONE_URL_HOST'],
    [`https://${'a'.repeat(64)}.example/o/r`, 'CLONE_URL_HOST'],
    [`https://${'a.'.repeat(127)}example/o/r`, 'CLONE_URL_HOST'],
    ['https://127.1/o/r', 'CLONE_URL_HOST'],
    ['https://0177.0.0.1/o/r', 'CLONE_URL_HOST'],
    ['https://0x7f.0.0.1/o/r', 'CLONE_URL_HOST'],
    ['https://2130706433/o/r', 'CLONE_URL_HOST'],
    ['https://1.2.3.0x4/o/r', 'CLONE_URL_HOST'],
    ['https://1.2.3.256/o/r', 'CLONE_URL_HOST'],
    ['https://h.example.7/o/r', 'CLONE_URL_HOST'],
    ['https://[::1/o/r', 'CLONE_URL_HOST'],
    ['https://[::1]x/o/r', 'CLONE_URL_HOST'],
    ['https://[fe80::1%25eth0]/o/r', 'CLONE_URL_HOST'],
    ['https://[1:2:3]/o/r', 'CLONE_URL_HOST'],
    ['https://::1/o/r', 'CLONE_URL_HOST'],
    ['https://h.example:/o/r', 'CLONE_URL_PORT'],
    ['https://h.example:0/o/r', 'CLONE_URL_PORT'],
    ['https://h.example:0443/o/r', 'CLONE_URL_PORT'],
    ['https://h.example:65536/o/r', 'CLONE_URL_PORT'],
    ['https://h.example:secret/o/r', 'CLONE_URL_PORT'],
    ['https://[::1]:/o/r', 'CLONE_URL_PORT'],
    ['https://h.example', 'CLONE_URL_PATH'],
    ['https://h.example/', 'CLONE_URL_PATH'],
    ['https://h.example//o/r', 'CLONE_URL_PATH'],
    ['https://h.example/o//r', 'CLONE_URL_PATH'],
    ['https://h.example/o/./r', 'CLONE_URL_PATH'],
    ['https://h.example/o/../r', 'CLONE_URL_PATH'],
    ['https://h.example/o/%2e%2E/r', 'CLONE_URL_PATH'],
    ['https://h.example/o/..', 'CLONE_URL_PATH'],
    ['https://h.example/o/.git', 'CLONE_URL_PATH'],
    ['https://h.example/o/...git', 'CLONE_URL_PATH'],
    ['https://h.example/o/r.git.git', 'CLONE_URL_PATH'],
    ['https://dev.azure.com/org/proj/_git', 'CLONE_URL_PATH'],
    ['https://h.example/o/r%', 'CLONE_URL_PATH'],
    ['https://h.example/o/r%2', 'CLONE_URL_PATH'],
    ['https://h.example/o/r%zz', 'CLONE_URL_PATH'],
    ['https://h.example/o/%ff', 'CLONE_URL_PATH'],
    ['https://h.example/o/r%00', 'CLONE_URL_PATH'],
    ['https://h.example/o/r%0a', 'CLONE_URL_PATH'],
    ['https://h.example/o/r%7f', 'CLONE_URL_PATH'],
    ['https://h.example/o/a%2fb', 'CLONE_URL_PATH'],
    ['https://h.example/o/a%5cb', 'CLONE_URL_PATH'],
    ['https://h.example/o%2f/r', 'CLONE_URL_PATH'],
    ['https://h.example/o/[r]', 'CLONE_URL_PATH'],
    ['https://h.example/o/r?ref=main', 'CLONE_URL_QUERY'],
    ['https://h.example/o/r?', 'CLONE_URL_QUERY'],
    ['https://h.example/o/r#main', 'CLONE_URL_FRAGMENT'],
    ['https://h.example/o/r?a#b', 'CLONE_URL_FRAGMENT'],
    [`https://h.example/${'a'.repeat(2048)}`, 'INPUT_TOO_LONG'],
  ]
  test.each(refused)('refuses %j as %s', (url, code) => {
    expect(refusal(url)).toMatchObject({ code, field: 'cloneUrl' })
  })

  test.each([undefined, null, 7, ['https://h.example/o/r'], new URL('https://h.example/o/r')])(
    'refuses %o, which is not a string',
    (value) => {
      expect(() => Reflect.apply(parseCloneUrl, undefined, [value])).toThrow(
        expect.objectContaining({ code: 'INPUT_TYPE', field: 'cloneUrl' }),
      )
    },
  )

  test.each([
    ['git@github.com:acme/widgets.git', 'https://github.com/acme/widgets.git'],
    ['github.com:acme/widgets.git', 'https://github.com/acme/widgets.git'],
    ['git@github.com:/acme/widgets.git', 'https://github.com/acme/widgets.git'],
    ['ssh://git@host.example:2222/acme/widgets', 'https://host.example/acme/widgets'],
    ['git+ssh://git@host.example/acme/widgets', 'https://host.example/acme/widgets'],
    ['ssh://git@[::1]:22/acme/widgets', 'https://[::1]/acme/widgets'],
    ['ssh://git@ssh.github.com:443/acme/widgets.git', 'https://github.com/acme/widgets.git'],
    ['git@altssh.gitlab.com:a/b/c.git', 'https://gitlab.com/a/b/c.git'],
    ['git@ssh.dev.azure.com:v3/org/My%20Proj/repo', 'https://dev.azure.com/org/My%20Proj/_git/repo'],
    ['org@vs-ssh.visualstudio.com:v3/org/proj/repo', 'https://dev.azure.com/org/proj/_git/repo'],
    ['git://host.example/acme/widgets', 'https://host.example/acme/widgets'],
    ['http://host.example/acme/widgets', 'https://host.example/acme/widgets'],
    ['http://host.example:80/acme/widgets', 'https://host.example/acme/widgets'],
    ['http://host.example:3000/acme/widgets', 'https://host.example/acme/widgets'],
    ['http://user:secret@host.example/acme/widgets', 'https://host.example/acme/widgets'],
  ])('suggests the https form of %s', (url, suggestion) => {
    expect(refusal(url).hint).toBe(`Use the https form: ${suggestion}`)
    expect(parseCloneUrl(suggestion).cloneUrl).toBe(suggestion)
  })

  test.each(['file:///srv/r.git', '/srv/r', 'C:/r', 'ssh://h', 'git@h.example:', 'http://h.example/o/r?x=1'])(
    'suggests no wrong form for %s',
    (url) => {
      expect(refusal(url).hint).toBe('Use the https form: like https://github.com/acme/widgets.git')
    },
  )

  const secret = fc.stringMatching(/^[A-Za-z0-9._~/?#[\]!$&'()*+,;=:@%-]{0,12}s3cr3t[A-Za-z0-9._~/?#:@-]{0,12}$/)
  property.prop([secret, fc.constantFrom('https', 'http', 'ssh', 'git', 'HTTPS')])(
    'never quotes a password, wherever it breaks the URL',
    (password, scheme) => {
      const error = refusal(`${scheme}://user:${password}@host.example/acme/widgets.git`)
      expect(`${error.message} ${error.hint} ${JSON.stringify(error)} ${String(error.cause)}`).not.toContain('s3cr3t')
    },
  )
  property.prop([secret])('never quotes a password of a form without a scheme', (password) => {
    const error = refusal(`user:${password}@host.example:acme/widgets.git`)
    expect(`${error.message} ${error.hint} ${JSON.stringify(error)} ${String(error.cause)}`).not.toContain('s3cr3t')
  })

  const segment = fc.stringMatching(/^[A-Za-z0-9_~!$&'()*+,;=:-][A-Za-z0-9._~!$&'()*+,;=:-]{0,20}$/)
  const escapes = fc.constantFrom('', '%20', '%7e', '%C3%bc', '%2d', '%28', '%40')
  const host = fc.constantFrom(
    'github.com',
    'GitHub.com',
    'h.example:8443',
    'h.example:443',
    '[::1]',
    '[0:0::1]:9',
    '10.0.0.1',
  )
  const validUrl = fc
    .tuple(
      fc.constantFrom('', 'user@', 'a.b%20c@'),
      host,
      fc.array(
        fc.tuple(segment, escapes).map(([text, escape]) => `${text}${escape}x`),
        { minLength: 1, maxLength: 5 },
      ),
      fc.constantFrom('', '.git', '/', '.git/', '//'),
    )
    .map(([user, at, segments, end]) => `https://${user}${at}/${segments.join('/')}${end}`)

  property.prop([validUrl])('gives a canonical form that is its own canonical form', (url) => {
    const first = parseCloneUrl(url)
    const second = parseCloneUrl(first.canonical)
    expect(second.canonical).toBe(first.canonical)
    expect(second).toEqual({ ...first, cloneUrl: first.canonical })
  })

  property.prop([validUrl])('reads the URL git is given as the same repository', (url) => {
    const { canonical, cloneUrl } = parseCloneUrl(url)
    expect(parseCloneUrl(cloneUrl).canonical).toBe(canonical)
    expect(cloneUrl).not.toContain('@')
  })

  const anySegment = fc
    .string({ unit: 'binary', minLength: 1, maxLength: 150 })
    .map((text) => text.replaceAll(/[\p{Cc}\p{Cs}/\\]/gu, ''))
    .filter((text) => text !== '' && text !== '.' && text !== '..' && !text.endsWith('.git') && text !== '_git')
  property.prop([anySegment])('gives every repository a directory that is one safe segment and shell word', (name) => {
    const escaped = encodeURIComponent(name)
    fc.pre(escaped.length < 1900)
    const { directory, repository } = parseCloneUrl(`https://h.example/acme/${escaped}`)
    expect(repository).toBe(name)
    expect(directory).toMatch(/^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$/)
  })

  property.prop([fc.string({ unit: 'binary', maxLength: 200 })])(
    'answers any text with a clone URL or a typed refusal',
    (text) => {
      const outcome = (() => {
        try {
          return parseCloneUrl(text).origin
        } catch (error) {
          return error
        }
      })()
      expect(typeof outcome === 'string' || outcome instanceof IdentityError).toBe(true)
    },
  )
})
