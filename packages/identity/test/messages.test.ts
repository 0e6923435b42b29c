import { IdentityError, mountableTemplateId, parseTemplateRef, repoTemplateRef } from '@warmbox/identity'
import { expect, test } from 'vitest'

const cloneUrl = 'https://h.example/o/r'
const ref = (fields: Readonly<Record<string, unknown>>) => (): unknown =>
  Reflect.apply(repoTemplateRef, undefined, [{ cloneUrl, ...fields }])
const url = (text: string) => ref({ cloneUrl: text })

/** What a person reads, whole: what was wrong, and what to write instead. */
const said: readonly (readonly [work: () => unknown, message: string, hint: string | undefined])[] = [
  [ref({ salt: 1 }), 'salt must be a string', undefined],
  [ref({ buildEnv: 1 }), 'buildEnv must be a plain object', undefined],
  [ref({ setupCommand: {} }), 'setupCommand must be a list', undefined],
  [ref({ lfs: 1 }), 'lfs must be true or false', undefined],
  [ref({ extra: { '': '' } }), 'extra must not be empty', undefined],
  [ref({ salt: 's'.repeat(1025) }), 'salt is longer than 1024', undefined],
  [ref({ setupCommand: Array(257).fill('') }), 'setupCommand has more than 256 entries', undefined],
  [ref({ buildEnv: { A: '\0' } }), 'buildEnv.A holds a control character', undefined],
  [ref({ buildEnv: { A: '\uDC00' } }), 'buildEnv.A holds half a surrogate pair', undefined],
  [ref({ branch: 'x' }), 'branch is no field of identity', 'Own inputs go into extra.'],
  [url(''), 'cloneUrl must not be empty', 'Write it like https://github.com/acme/widgets.git.'],
  [url('https://h/ö'), 'cloneUrl holds a character no URL has', 'Escape it; a host has an xn-- form.'],
  [url('/srv'), 'cloneUrl is not an https URL', 'Use the https form: like https://github.com/acme/widgets.git'],
  [url('SSH://Git@H.example:22/o/r'), 'cloneUrl is not an https URL', 'Use the https form: https://h.example/o/r'],
  [url('https://u:p@h/r'), 'cloneUrl carries credentials', 'Pass them apart; an @ in a path is %40.'],
  [url('https://h./r'), 'cloneUrl has no valid host', 'Write it like github.com or [::1].'],
  [url('https://h:0/r'), 'cloneUrl has no valid port', 'Use 1 to 65535.'],
  [url('https://h/r?a'), 'cloneUrl has a query', 'Leave it out.'],
  [url('https://h/r#a'), 'cloneUrl has a fragment', 'Name a branch by an option.'],
  [url('https://h/[r]'), 'cloneUrl has a bracket or lone %', 'Write it like /acme/widgets.git.'],
  [url('https://h//r'), 'cloneUrl has an empty or relative segment', 'Write it like /acme/widgets.git.'],
  [url('https://h/r.git.git'), 'cloneUrl has .git twice', 'Write it like /acme/widgets.git.'],
  [url('https://h/a/_git'), 'cloneUrl ends before a repository', 'Write it like /acme/widgets.git.'],
  [url('https://h/%ff'), 'cloneUrl has an escape that is not UTF-8', 'Write it like /acme/widgets.git.'],
  [url('https://h/a%2fb'), 'cloneUrl escapes a slash or control character', 'Write it like /acme/widgets.git.'],
  [ref({ sha: 'abc' }), 'sha is not a full commit id', 'Pass 40 or 64 hex digits.'],
  [ref({ buildEnv: { 'A-B': '' } }), 'buildEnv has the invalid name "A-B"', 'Use letters, digits and _.'],
  [ref({ cpuCount: 3 }), 'cpuCount is no size E2B builds', 'Use 1 or an even number to 32.'],
  [ref({ memoryMB: 3 }), 'memoryMB is no size E2B builds', 'Use an even number from 128 to 1048576.'],
  [
    ref({ workingDirectory: 'srv' }),
    'workingDirectory is no plain absolute path',
    'Use / and letters, digits, . _ + @ = , - only.',
  ],
  [() => parseTemplateRef('a/b/c'), 'ref has two slashes', 'Write it like namespace/name:tag.'],
  [
    () => parseTemplateRef('a.b'),
    'ref is not one E2B accepts',
    'Use 1 to 128 of a-z 0-9 - _, in tags also . but no UUID.',
  ],
  [() => mountableTemplateId({ nodeVersion: 'lts' }), 'nodeVersion is not an exact release', 'Write it like 24.20.0.'],
  [
    () => mountableTemplateId({ aptPackages: ['-y'] }),
    'aptPackages names no Debian package',
    'Write name or name=version.',
  ],
]

test.each(said)('refusal %#', (work, message, hint) => {
  const error = (() => {
    try {
      return work()
    } catch (refusal) {
      return refusal
    }
  })()
  expect(error).toBeInstanceOf(IdentityError)
  expect(error).toMatchObject({ message, hint })
})
