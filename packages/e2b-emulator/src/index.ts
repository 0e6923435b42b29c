export { createManualClock, systemClock, type Clock, type ManualClock } from './clock.ts'
export { type BuildView, type EmulatorControl, type RequestEntry, type TemplateView } from './control.ts'
export { createEmulator, type Emulator } from './emulator.ts'
export { EmulatorError, type EmulatorErrorCode } from './errors.ts'
export { type StreamCut } from './cut-stream.ts'
export { type Fault, type FaultEffect, type FaultMatch, type Plane } from './fault.ts'
export { ConnectionReset } from './faults.ts'
export { type EmulatorOptions, type RuntimeChoice } from './options.ts'
export { seededIdentifierSource } from './platform/identifiers.ts'
export { type Limits, type ScriptedBuildFailure } from './platform/platform.ts'
export { type ForeignTemplate } from './platform/public-template.ts'
export {
  RuntimeError,
  type FileEntry,
  type ImageId,
  type Machine,
  type MachineFiles,
  type MachineOptions,
  type MachineProcess,
  type MachineUsage,
  type MountedImage,
  type ProcessExit,
  type ProcessOutput,
  type Runtime as RuntimePort,
  type RuntimeErrorCode,
  type SpawnOptions,
  type WriteOptions,
} from './runtime/port.ts'
export { SystemError, type SystemErrorName } from './runtime/system-errors.ts'
export { probeNamespaces } from './runtime/real/probe.ts'
export {
  createScriptedRuntime,
  type ScriptedCall,
  type ScriptedCommand,
  type ScriptedPort,
  type ScriptedResult,
  type ScriptedRuntimeOptions,
} from './runtime/scripted/index.ts'
export { type EmulatorConnection, type ListenOptions, type LoopbackServer } from './server/loopback.ts'
