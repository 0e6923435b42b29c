import { defineConfig } from 'tsup'

const shared = {
  entry: { index: 'src/index.ts' },
  target: 'es2023',
  platform: 'neutral',
  sourcemap: true,
  treeshake: true,
} as const

const banner = { js: '/*! Contains @stablelib/sha256, MIT License, Copyright (C) 2016 Dmitry Chestnykh */' }

/**
 * Two builds, because the one dependency is published as ES modules only: the CommonJS build carries it along, so that
 * `require` works where the runtime cannot load an ES module synchronously.
 */
export default defineConfig([
  { ...shared, format: ['esm'], dts: true },
  { ...shared, format: ['cjs'], dts: true, noExternal: [/^@stablelib/], banner },
])
