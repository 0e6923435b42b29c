export { createUnsafeHostRuntime } from './runtime.ts'
