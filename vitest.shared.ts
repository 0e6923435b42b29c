import { availableParallelism } from 'node:os'
import { defineConfig, type ViteUserConfig } from 'vitest/config'

/**
 * Tests read workspace packages from source (condition `@warmbox/source`), so a change is tested without a build.
 * `.vitest/report.json` is what the CI script counts.
 */
export const suite = (test: NonNullable<ViteUserConfig['test']> = {}) =>
  defineConfig({
    resolve: { conditions: ['@warmbox/source'] },
    ssr: { resolve: { conditions: ['@warmbox/source'], externalConditions: ['@warmbox/source'] } },
    test: {
      include: ['test/**/*.test.ts'],
      reporters: ['default', 'json'],
      // Most of the time goes to processes that tests start and wait for; Vitest's own choice for two cores is one worker.
      maxWorkers: Math.max(2, availableParallelism() - 1),
      // Real processes, on machines that may be busy with ten other things: these end what hangs, and measure nothing.
      testTimeout: 120_000,
      hookTimeout: 120_000,
      // What is polled for comes, or never.
      expect: { poll: { timeout: 60_000 } },
      outputFile: { json: '.vitest/report.json' },
      ...test,
    },
  })
