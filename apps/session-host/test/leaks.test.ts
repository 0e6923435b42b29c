import { createEmulator, probeNamespaces } from '@warmbox/e2b-emulator'
import { E2BSandbox } from '@warmbox/sandbox'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { countFilesWithNeedles, needlesOf } from '../src/leaks.ts'

const namespaces = await probeNamespaces()
const without = namespaces.available ? '' : ` (skipped: ${namespaces.reason})`
const emulator = createEmulator()
const needles = needlesOf('wbx_0123456789abcdef')
let sandbox: E2BSandbox | undefined

beforeAll(async () => {
  if (!namespaces.available) return
  const { connection } = await emulator.listen()
  sandbox = new E2BSandbox({ ...connection, id: 'leaks' })
  await sandbox._start()
}, 60_000)

afterAll(async () => {
  await sandbox?._destroy()
  await emulator.close()
})

const since = new Date(Date.now() - 60_000)

test.skipIf(!namespaces.available)(`the search finds each form of a token wherever it lies${without}`, async () => {
  const subject = assertStarted(sandbox)
  expect(await countFilesWithNeedles(subject, needles, since)).toBe(0)
  const places = ['/home/user/.netrc', '/root/.bash_history', '/etc/hidden', '/var/tmp/deep/er/file']
  for (const [index, needle] of needles.entries()) {
    const place = places[index] ?? '/home/user/other'
    await subject.executeCommand('sudo', [
      'bash',
      '-c',
      'mkdir -p "$(dirname "$1")" && printf "x%sx" "$2" >"$1" && chmod 600 "$1" && touch -d @0 "$1"',
      'plant',
      place,
      needle,
    ])
    expect(await countFilesWithNeedles(subject, needles, since), `${needle} in ${place}`).toBe(index + 1)
  }
})

test.skipIf(!namespaces.available)(
  `the search finds a token in the environment of a running process${without}`,
  async () => {
    const subject = assertStarted(sandbox)
    const before = await countFilesWithNeedles(subject, needles, since)
    const process = await subject.processes.spawn('sleep 60', { env: { TOKEN: needles[0] ?? '' } })
    expect(await countFilesWithNeedles(subject, needles, since)).toBeGreaterThan(before)
    await process.kill()
  },
)

function assertStarted(started: E2BSandbox | undefined): E2BSandbox {
  if (started === undefined) throw new Error('the sandbox did not start')
  return started
}
