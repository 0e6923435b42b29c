import { chown, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createRepository } from '@warmbox/git-server'
import { expect, test } from 'vitest'

import { git } from '../src/git.ts'
import { resolveOptions } from '../src/options.ts'
import { openOrigin } from '../src/origin.ts'

const isRoot = process.getuid?.() === 0

test.skipIf(!isRoot)(
  `a checkout that belongs to another user is served all the same${isRoot ? '' : ' (skipped: needs root to make one)'}`,
  async () => {
    const repository = await createRepository()
    const sha = await repository.commit({ 'a.txt': 'a' })
    const directory = await mkdtemp(join(tmpdir(), 'warmbox-foreign-'))
    try {
      const checkout = join(directory, 'checkout')
      await git(['clone', '--quiet', '--', repository.path, checkout], { cwd: directory })
      await Promise.all([checkout, join(checkout, '.git')].map((path) => chown(path, 12345, 12345)))
      const options = resolveOptions(['--repo', checkout], {})
      if (options === 'help') throw new Error('these options ask for no help')
      const origin = await openOrigin(options, new AbortController().signal)
      const moved = await origin.advance()
      await origin.close()
      expect(moved).toMatch(/^[0-9a-f]{40}$/)
      expect(moved).not.toBe(sha)
    } finally {
      await Promise.all([repository.remove(), rm(directory, { recursive: true })])
    }
  },
)
