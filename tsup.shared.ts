import { defineConfig } from 'tsup'

/** The one build every published package uses: ESM and CJS with types for both. */
export const library = (entry: Record<string, string>) =>
  defineConfig({
    entry,
    format: ['esm', 'cjs'],
    dts: true,
    target: 'node22',
    platform: 'node',
    clean: true,
    sourcemap: true,
    // Entry points of one package share their classes; with a single one there is nothing to share.
    splitting: Object.keys(entry).length > 1,
  })
