export { createUnsafeHostRuntime, type UnsafeHostOptions } from './runtime.ts'
