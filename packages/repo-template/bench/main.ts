/**
 * How long it takes to learn a repository's head, by the one request and by git, from a git server over TLS on loopback
 * behind a token. Prints a table, then one JSON object: `headLookupHttpMs` and `headLookupGitMs`, medians.
 * Then `incrementalBuildRatio`: the build of a moved head on the build before it, over the same from nothing.
 */
import { probeNamespaces } from '@warmbox/e2b-emulator'
import { createRepository, startGitServer } from '@warmbox/git-server'
import { type HeadResolver, resolveHeadOverHttp, resolveHeadWithGit } from '@warmbox/repo-template'
import { measureIncrementalBuild } from './incremental-build.ts'
import { median } from './median.ts'

const ROUNDS = 15
const token = 'bench-token'

const repository = await createRepository()
const sha = await repository.commit({ 'README.md': 'widgets\n' })
// A repository in use: what a lookup reads must not grow with this.
for (let branch = 0; branch < 200; branch += 1) await repository.git('update-ref', `refs/heads/b${branch}`, sha)
const server = await startGitServer({ repositories: { 'acme/widgets.git': repository.path }, token })
const access = {
  cloneUrl: server.cloneUrl('acme/widgets.git'),
  authorization: { scheme: 'bearer' as const, token },
}

const http: number[] = []
const git: number[] = []
try {
  // In turns, so that a busy machine slows both alike; the median drops what it disturbed.
  for (let round = 0; round < ROUNDS; round += 1) {
    http.push(await measure(resolveHeadOverHttp))
    git.push(await measure(resolveHeadWithGit))
  }
} finally {
  await server.close()
  await repository.remove()
}
const headLookupHttpMs = median(http)
const headLookupGitMs = median(git)
console.log(`${ROUNDS} rounds, 201 refs`)
console.log(`one request  ${headLookupHttpMs} ms`)
console.log(`git          ${headLookupGitMs} ms`)
const figures: Record<string, number> = { headLookupHttpMs, headLookupGitMs }
const namespaces = await probeNamespaces()
if (namespaces.available) {
  const { cleanMs, incrementalMs } = await measureIncrementalBuild()
  figures['incrementalBuildRatio'] = Number((incrementalMs / cleanMs).toFixed(3))
  console.log(`build from nothing      ${cleanMs} ms`)
  console.log(`on the build before it  ${incrementalMs} ms`)
} else {
  console.log(`builds are not measured: ${namespaces.reason}`)
}
console.log(JSON.stringify(figures))

async function measure(resolve: HeadResolver): Promise<number> {
  const started = performance.now()
  const head = await resolve(access, { certificateAuthority: server.certificateAuthority, timeoutMs: 60_000 })
  const elapsed = performance.now() - started
  if (head.status !== 'found' || head.sha !== sha) throw new Error(`The lookup answered ${head.status}`)
  return elapsed
}
