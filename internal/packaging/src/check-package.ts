/**
 * Checks what npm would publish of the package in the working directory: packs it with the packages below it, reads
 * the tarball with publint and attw, then installs and uses it in an empty project.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

import { publint } from 'publint'
import { formatMessage } from 'publint/utils'

import { checkAsConsumer, type Tarball } from './consumer.ts'
import { run } from './run.ts'
import { readPublishedPackages, withPackagesBelow, type PublishedPackage } from './workspace.ts'

const root = resolve(import.meta.dirname, '../../..')
const packages = await readPublishedPackages(root)
const subject = [...packages.values()].find((entry) => entry.directory === process.cwd())
if (subject === undefined) throw new Error(`${process.cwd()} holds no package that is published`)

const scratch = await mkdtemp(join(tmpdir(), 'warmbox-pack-'))
try {
  const family = withPackagesBelow(packages, subject.name)
  const tarballs = await Promise.all(family.map((entry) => pack(entry, scratch)))
  await checkManifest(subject, tarballs)
  const peers = new Set(family.flatMap((entry) => entry.peers))
  await checkAsConsumer(join(scratch, 'consumer'), subject, tarballs, peers)
  console.log(`${subject.name}: packs, installs and imports (ESM, CJS, types); publint and attw clean`)
} finally {
  await rm(scratch, { recursive: true, force: true })
}

async function pack(entry: PublishedPackage, directory: string): Promise<Tarball> {
  const path = join(directory, `${entry.name.replace('@', '').replace('/', '-')}.tgz`)
  await run('pnpm', ['pack', '--out', path], entry.directory)
  return { name: entry.name, path }
}

async function checkManifest(entry: PublishedPackage, tarballs: readonly Tarball[]): Promise<void> {
  const path = tarballs.find((tarball) => tarball.name === entry.name)?.path
  if (path === undefined) throw new Error(`${entry.name} was not packed`)
  const archive = await readFile(path)
  const { messages, pkg } = await publint({
    strict: true,
    pack: { tarball: new Uint8Array(archive).buffer },
  })
  if (messages.length > 0)
    throw new Error(`publint, ${entry.name}:\n${messages.map((message) => formatMessage(message, pkg)).join('\n')}`)
  await run(
    process.execPath,
    [
      resolve(import.meta.dirname, '../node_modules/@arethetypeswrong/cli/dist/index.js'),
      path,
      '--profile',
      'node16',
      '--no-emoji',
    ],
    entry.directory,
  )
}
