export { createRealRuntime, type RealRuntimeOptions } from './runtime.ts'
export { probeNamespaces } from './probe.ts'
