import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Template } from 'e2b'
import { createEmulator, type EmulatorConnection } from '@warmbox/e2b-emulator'
import { createRealRuntime, type RealRuntimeOptions } from '../src/runtime/real/index.ts'

/** 5,000 files in 100 directories, 56 MB together: about a repository with its dependencies. Two alike, for changes. */
export const templates = ['bench-files:v1', 'bench-files-too:v1'] as const
const writeFiles = (seed: number) => `node -e '
  const fs = require("node:fs")
  for (let index = 0; index < 5000; index++) {
    const directory = "tree/" + (index % 100)
    fs.mkdirSync(directory, { recursive: true })
    fs.writeFileSync(directory + "/" + index, Buffer.alloc(11200, index + ${seed}))
  }
'`

/** Runs `work` against an emulator on the real runtime that has {@link templates}. */
export async function withEmulator<Result>(
  storage: RealRuntimeOptions['storage'],
  work: (connection: EmulatorConnection) => Promise<Result>,
): Promise<Result> {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'emulator-bench-'))
  const runtime = await createRealRuntime({ dataDirectory, certificateAuthorities: [], storage })
  const emulator = createEmulator({ runtime, dataDirectory })
  try {
    const { connection } = await emulator.listen()
    for (const [seed, name] of templates.entries()) {
      await Template.build(Template().fromImage('node:24').runCmd(writeFiles(seed)), name, connection)
    }
    return await work(connection)
  } finally {
    await emulator.close()
    rmSync(dataDirectory, { recursive: true, force: true })
  }
}
