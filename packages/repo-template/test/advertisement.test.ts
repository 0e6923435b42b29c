import { once } from 'node:events'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { resolveHead } from '@warmbox/repo-template'
import { serve } from './support/fixtures.ts'

const packet = (line: string): Buffer => {
  const bytes = Buffer.from(`${line}\n`)
  return Buffer.concat([Buffer.from((bytes.length + 4).toString(16).padStart(4, '0')), bytes])
}

const sha = fc.stringMatching(/^[0-9a-f]{40}$/)
const refName = fc.stringMatching(/^refs\/heads\/[a-z][a-z0-9-]{0,12}$/)

test('a head is found however the answer is cut into pieces and whatever else is advertised', async () => {
  let pieces: readonly Buffer[] = []
  const server = await serve({
    repositories: {},
    intercept: (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-advertisement' })
      const send = async () => {
        for (const piece of pieces) if (!response.write(piece)) await once(response, 'drain')
        response.end()
      }
      // The reader hangs up as soon as it knows enough.
      send().catch(() => response.destroy())
      return true
    },
  })
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(fc.record({ name: refName, sha }), { selector: ({ name }) => name, minLength: 1, maxLength: 20 }),
      fc.nat(),
      fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 8 }),
      fc.boolean(),
      async (refs, choice, sizes, versionOne) => {
        const wanted = refs[choice % refs.length]
        const [first] = refs
        if (wanted === undefined || first === undefined) throw new Error('no refs')
        const answer = Buffer.concat([
          packet('# service=git-upload-pack'),
          Buffer.from('0000'),
          ...(versionOne ? [packet('version 1')] : []),
          packet(`${first.sha} HEAD\0multi_ack symref=HEAD:${first.name}`),
          ...refs.map((ref) => packet(`${ref.sha} ${ref.name}`)),
          Buffer.from('0000'),
        ])
        const cut: Buffer[] = []
        for (let offset = 0, index = 0; offset < answer.length; index += 1) {
          const size = sizes[index % sizes.length] ?? 1
          cut.push(answer.subarray(offset, offset + size))
          offset += size
        }
        pieces = cut
        const access = { cloneUrl: server.cloneUrl('r') }
        const options = { certificateAuthority: server.certificateAuthority }
        expect(await resolveHead(access, options)).toMatchObject({ status: 'found', sha: first.sha })
        const branch = wanted.name.slice('refs/heads/'.length)
        expect(await resolveHead(access, { ...options, branch })).toMatchObject({ status: 'found', sha: wanted.sha })
      },
    ),
    { numRuns: 25 },
  )
})

test.each([
  ['an early end', Buffer.concat([packet('# service=git-upload-pack'), Buffer.from('0000')])],
  ['a length that is none', Buffer.from('zzzz')],
  ['a line that is no ref', Buffer.concat([packet('# service=git-upload-pack'), Buffer.from('0000'), packet('hello')])],
  ['an error packet', Buffer.concat([packet('# service=git-upload-pack'), Buffer.from('0000'), packet('ERR no')])],
  ['no announcement', packet(`${'a'.repeat(40)} HEAD`)],
])('%s is no head', async (_name, body) => {
  const server = await serve({
    repositories: {},
    intercept: (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-advertisement' }).end(body)
      return true
    },
  })
  const head = await resolveHead(
    { cloneUrl: server.cloneUrl('r') },
    { certificateAuthority: server.certificateAuthority, timeoutMs: 30_000 },
  )
  expect(head.status).toBe('refused')
})
