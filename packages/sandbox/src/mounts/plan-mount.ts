import type { FilesystemMountConfig } from '@mastra/core/workspace'
import { planAzureBlob } from './azure-blob.ts'
import type { E2BMountConfig } from './config.ts'
import { planGcs } from './gcs.ts'
import type { MountPlan } from './plan.ts'
import { planS3 } from './s3.ts'

/** The plan for a configuration; undefined for a type that cannot be mounted here. @throws E2BSandboxError `INVALID_OPTION` */
export function planMount(config: FilesystemMountConfig): MountPlan | undefined {
  if (!isSupported(config)) return undefined
  switch (config.type) {
    case 's3':
      return planS3(config)
    case 'gcs':
      return planGcs(config)
    case 'azure-blob':
      return planAzureBlob(config)
  }
}

const SUPPORTED: ReadonlySet<string> = new Set(['s3', 'gcs', 'azure-blob'] satisfies E2BMountConfig['type'][])

const isSupported = (config: FilesystemMountConfig): config is E2BMountConfig => SUPPORTED.has(config.type)
