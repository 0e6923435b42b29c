import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Template, type TemplateBuilder } from 'e2b'
import { describe, expect, test, vi } from 'vitest'
import { applyMountableSteps } from '@warmbox/resolution'
import { createRepoTemplate, type RepoTemplateOptions, repoTemplateRef } from '@warmbox/repo-template'
import { temporaryDirectory } from './support/fixtures.ts'

const sha = 'a'.repeat(40)
const cloneUrl = 'https://git.example.com/acme/widgets.git'

const resolve = async (options: Partial<RepoTemplateOptions>) => {
  const deferred = createRepoTemplate({ getRepositoryAccess: () => Promise.resolve({ cloneUrl }), sha, ...options })
  if (deferred === undefined) throw new Error('no spec')
  return deferred.resolveSpec()
}

describe('a customised base', () => {
  test('comes before the repository, and is asked for once per resolution', async () => {
    const base = vi.fn<(builder: TemplateBuilder) => TemplateBuilder>((builder) => builder.aptInstall(['ripgrep']))
    const spec = await resolve({ base })
    expect(base).toHaveBeenCalledOnce()
    const { steps }: { steps: readonly { args: readonly string[] }[] } = JSON.parse(
      await Template.toJSON(spec.template, false),
    )
    const position = (text: string) => steps.findIndex(({ args }) => args.some((arg) => arg.includes(text)))
    expect(position('ripgrep')).toBeGreaterThan(position('# package managers by corepack'))
    expect(position('# directory')).toBeGreaterThan(position('ripgrep'))
  })

  test('is part of the name by its content, whoever made it', async () => {
    const plain = await resolve({})
    const one = await resolve({ base: (builder) => builder.aptInstall(['ripgrep']) })
    const same = await resolve({ base: (builder) => builder.aptInstall(['ripgrep']) })
    const two = await resolve({ base: (builder) => builder.aptInstall(['fd-find']) })
    const unchanged = await resolve({ base: (builder) => builder })
    expect(one.ref).toBe(same.ref)
    expect(new Set([plain.ref, one.ref, two.ref, unchanged.ref]).size).toBe(4)
    expect(plain.ref).toBe(repoTemplateRef({ cloneUrl, sha }))
  })

  test('counts the content of files it copies', async () => {
    const directory = await temporaryDirectory()
    const base = () =>
      applyMountableSteps(Template({ fileContextPath: directory }).fromBaseImage()).copy('tool.conf', '/etc/tool.conf')
    await writeFile(join(directory, 'tool.conf'), 'one')
    const one = await resolve({ base })
    await writeFile(join(directory, 'tool.conf'), 'two')
    expect((await resolve({ base })).ref).not.toBe(one.ref)
  })

  test.each<[string, Partial<RepoTemplateOptions>]>([
    ['an image', { base: () => Template().fromImage('debian:12') }],
    ['another image', { base: () => Template().fromImage('debian:13') }],
    ['a template', { base: () => Template().fromTemplate('mine:1') }],
    ['another template', { base: () => Template().fromTemplate('mine:2') }],
    ['a variable', { base: (builder) => builder.setEnvs({ A: '1' }) }],
    ['a user', { base: (builder) => builder.setUser('root') }],
    ['a directory', { base: (builder) => builder.setWorkdir('/srv') }],
  ])('tells %s from everything else', async (_name, options) => {
    const others = await Promise.all([
      resolve({}),
      resolve({ base: () => Template().fromImage('debian:11') }),
      resolve({ base: () => Template().fromTemplate('mine:0') }),
      resolve({ base: (builder) => builder.setEnvs({ A: '0' }) }),
    ])
    expect(others.map(({ ref }) => ref)).not.toContain((await resolve(options)).ref)
  })
})

describe('a base that cannot be used leaves nothing of the repository to boot', () => {
  const unusable: readonly [string, object][] = [
    [
      'it throws',
      {
        base: () => {
          throw new Error('boom')
        },
      },
    ],
    ['it answers nothing', { base: () => undefined }],
    ['it answers no builder', { base: () => ({ runCmd: 7 }) }],
    ['it copies a file that is not there', { base: (builder: TemplateBuilder) => builder.copy('not/there', '/x') }],
  ]
  test.each(unusable)('%s', async (_name, options) => {
    const spec = await resolve({ ...options, fallbackTemplate: 'mine:1' })
    expect(spec.refused).toMatchObject({ code: 'BASE_FAILED' })
    expect(spec.fallbackTemplate).toBe('mine:1')
  })

  test('something that is no function is refused at once', () => {
    const options: object = { base: 'debian' }
    expect(() => createRepoTemplate({ getRepositoryAccess: undefined, ...options })).toThrow(
      expect.objectContaining({ code: 'OPTION_TYPE', field: 'base' }),
    )
  })
})
