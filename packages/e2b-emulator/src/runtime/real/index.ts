export { createRealRuntime } from './runtime.ts'
export { probeNamespaces } from './probe.ts'
