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
      // Real processes, on machines that do other things as well.
      testTimeout: 30_000,
      hookTimeout: 60_000,
      outputFile: { json: '.vitest/report.json' },
      ...test,
    },
  })
