export { createRealRuntime, type RealRuntimeOptions } from './runtime.ts'
export { probeNamespaces, type NamespaceProbe } from './probe.ts'
export { shims, type Shim } from './shims.ts'
