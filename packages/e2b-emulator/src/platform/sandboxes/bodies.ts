import { anything, arrayOf, boolean, integer, object, optional, recordOf, string } from '../check.ts'
import type { Schemas } from '../contract.ts'

/** Checks of request bodies, one per schema of the contract. */

const egressFields = {
  allowOut: optional(arrayOf(string)),
  denyOut: optional(arrayOf(string)),
  egressProxy: optional(
    object<NonNullable<Schemas['SandboxEgressProxyConfig']>>({
      address: string,
      password: optional(string),
      username: optional(string),
    }),
  ),
  rules: optional(
    recordOf(
      arrayOf(
        object<Schemas['SandboxNetworkRule']>({
          transform: optional(object<Schemas['SandboxNetworkTransform']>({ headers: optional(recordOf(string)) })),
        }),
      ),
    ),
  ),
}

const networkConfig = object<Schemas['SandboxNetworkConfig']>({
  ...egressFields,
  allowPublicTraffic: optional(boolean),
  httpsPorts: optional(arrayOf(integer({ minimum: 1, maximum: 65_535 }))),
  maskRequestHost: optional(string),
})

export const networkUpdate = object<Schemas['SandboxNetworkUpdateConfig']>({
  ...egressFields,
  allow_internet_access: optional(boolean),
})

const iam = object<Schemas['SandboxIam']>({
  tokens: optional(recordOf(object<Schemas['SandboxIamToken']>({ audience: string, tokenType: string }))),
})

const newSandboxFields = {
  allow_internet_access: optional(boolean),
  autoPause: optional(boolean),
  autoPauseMemory: optional(boolean),
  autoResume: optional(object<Schemas['SandboxAutoResumeConfig']>({ enabled: boolean })),
  envVars: optional(recordOf(string)),
  iam: optional(iam),
  mcp: optional(recordOf(anything)),
  metadata: optional(recordOf(string)),
  network: optional(networkConfig),
  templateID: string,
  timeout: optional(integer({ minimum: 0 })),
  volumeMounts: optional(arrayOf(object<Schemas['SandboxVolumeMount']>({ name: string, path: string }))),
}

export const newSandboxV2 = object<Schemas['NewSandboxV2']>(newSandboxFields)
export const newSandboxV1 = object<Schemas['NewSandbox']>({ ...newSandboxFields, secure: optional(boolean) })

export const connectV2 = object<Schemas['ConnectSandboxV2']>({
  memory: optional(boolean),
  timeout: optional(integer({ minimum: 0 })),
})
export const connectV1 = object<Schemas['ConnectSandbox']>({
  memory: optional(boolean),
  timeout: integer({ minimum: 0 }),
})
export const resumed = object<Schemas['ResumedSandbox']>({
  autoPause: optional(boolean),
  memory: optional(boolean),
  timeout: optional(integer({ minimum: 0 })),
})
export const paused = object<Schemas['SandboxPauseRequest']>({ memory: optional(boolean) })
export const timedOut = object<Schemas['SandboxTimeoutRequest']>({ timeout: integer({ minimum: 0 }) })
export const refreshed = object<Schemas['SandboxRefreshRequest']>({
  duration: optional(integer({ minimum: 0, maximum: 3600 })),
})
export const snapshotRequested = object<Schemas['SandboxSnapshotRequest']>({ name: optional(string) })
/** Their ranges are the handler's to check, which words its own refusals. */
export const forked = object<Schemas['SandboxForkRequest']>({
  count: optional(integer()),
  timeout: optional(integer()),
})
