import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { mergeConfig } from 'vitest/config'
import newest from './vitest.config.ts'

const require = createRequire(import.meta.url)
const e2b = dirname(dirname(require.resolve('e2b-floor')))
const core = require.resolve('mastra-core-floor/package.json').replace(/\/package\.json$/, '')

/** What meets the peers, once more on their oldest versions; test/peer-versions.test.ts proves that it is. */
export default mergeConfig(newest, {
  resolve: {
    alias: [
      { find: /^e2b$/, replacement: join(e2b, 'dist/index.mjs') },
      { find: /^@mastra\/core\/([\w/-]+)$/, replacement: join(core, 'dist/$1/index.js') },
    ],
  },
  test: {
    testTimeout: 60_000,
    exclude: [
      // Hosts of their own, in processes that load the newest peers whatever is configured here.
      'test/convergence.test.ts',
      // Scripts inside the machine, which no version of a peer changes.
      'test/mounts.test.ts',
      'test/s3fs.test.ts',
      // Minutes of real processes, for what the files beside them ask as well.
      ...(process.env['WARMBOX_SHORT_TESTS'] === '1' ? ['test/emulator.test.ts', 'test/processes.test.ts'] : []),
    ],
    env: { WARMBOX_TEST_PEERS: 'floor' },
    outputFile: { json: '.vitest/report-floor.json' },
  },
})
