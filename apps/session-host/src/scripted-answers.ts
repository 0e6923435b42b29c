import type { ScriptedCall, ScriptedCommand } from '@warmbox/e2b-emulator'

/**
 * What the walk's commands answer where no process can run. The checkout is two files in the machine's memory, the
 * commit it is at and whether it was set up, so that an image remembers what was built into it.
 *
 * The rows know the scripts of a repository template by what they do, not by their wording; the walk says that it
 * ran on these, because they prove the ladder and nothing about git.
 */
export function scriptedAnswers(checkout: string): readonly ScriptedCommand[] {
  const head = `${checkout}/.git/HEAD`
  const setUp = `${checkout}/.git/warmbox-demo-files`
  return [
    // A search for needles on stdin, in all that the machine holds.
    { match: /-newerct/, answer: (call) => search(call) },
    // A look at a checkout, before a sync.
    {
      match: /warmbox:state=none/,
      answer: async (call) => {
        const sha = await read(call, head)
        return {
          stdout:
            sha === '' ? 'warmbox:state=none\n' : `warmbox:state=checkout\nwarmbox:head=${sha}\nwarmbox:lockfiles=\n`,
        }
      },
    },
    // Clone and checkout, in a build and in a session.
    {
      match: /checkout --quiet --detach/,
      answer: async (call) => {
        const sha = /warmbox_sha=\W*([0-9a-f]{40,64})/.exec(call.text)?.[1]
        if (sha === undefined) return { stderr: 'no commit named', exitCode: 1 }
        await write(call, head, sha)
        return { stdout: 'warmbox:lockfiles=\n' }
      },
    },
    { match: /about to fail/, answer: { stderr: 'about to fail\n', exitCode: 1 } },
    {
      match: /set up for/,
      answer: async (call) => {
        await write(call, setUp, '1')
        return { stdout: 'set up for 1 files (scripted)\n' }
      },
    },
    // Fetching and recording change nothing a later command looks at.
    { match: /warmbox:contained=/, answer: {} },
    { match: /warmbox\.json\.new/, answer: {} },
    { match: /rev-parse\W+HEAD\W*$/, answer: async (call) => ({ stdout: `${await read(call, head)}\n` }) },
    {
      match: /git log -1/,
      answer: async (call) => ({
        stdout: `${(await read(call, head)).slice(0, 7)} (scripted)\nsetup saw ${(await read(call, setUp)) || 'nothing yet'}\n`,
      }),
    },
  ]
}

async function read({ files }: ScriptedCall, path: string): Promise<string> {
  const exists = await files.stat(path).then(
    () => true,
    // A file that is not there reads as empty, which is how a cold machine is told from a warm one.
    () => false,
  )
  return exists ? new Response(await files.read(path)).text() : ''
}

async function write({ files, user }: ScriptedCall, path: string, text: string): Promise<void> {
  const body = new Response(text).body
  if (body !== null) await files.write(path, body, user)
}

async function search(call: ScriptedCall): Promise<{ stdout: string }> {
  const chunks: Uint8Array[] = []
  for await (const chunk of call.stdin) chunks.push(chunk)
  const needles = Buffer.concat(chunks).toString('utf8').split('\n').filter(Boolean)
  const entries = (await call.files.list('/', 64)).filter(({ type }) => type === 'file')
  const found: string[] = []
  for (const { path } of entries) {
    const content = await read(call, path)
    if (needles.some((needle) => content.includes(needle))) found.push(path)
  }
  return { stdout: [`searched ${entries.length}`, ...found, ''].join('\n') }
}
