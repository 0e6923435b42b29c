import { createHash } from 'node:crypto'
import type { FilesystemMountConfig } from '@mastra/core/workspace'
import { MOUNTS_DIRECTORY } from './scripts.ts'

/** What is written beside a mount of ours, so that it is known again after a reconnect. Readable by root alone. */
export interface MountMarker {
  readonly mountPath: string
  /** Digest of the configuration, credentials included: a rotated key is another configuration. */
  readonly configHash: string
  /** The directory was not there before. */
  readonly madeDirectory: boolean
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Files of the mount at a path. Each path has its own, so that mounts never share one. */
export function siteFiles(mountPath: string) {
  const base = `${MOUNTS_DIRECTORY}/${digest(mountPath).slice(0, 32)}`
  return {
    marker: `${base}.json`,
    // blobfuse2 tells the format of its file by its ending.
    credentials: `${base}.credentials.yaml`,
    log: `${base}.log`,
    cache: `${base}.cache`,
  }
}

export const configHash = (config: FilesystemMountConfig): string =>
  digest(JSON.stringify(Object.entries(config).toSorted(([left], [right]) => (left < right ? -1 : 1))))

/** The marker a text holds; undefined for any other text. */
export function parseMarker(text: string): MountMarker | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // Cut off while it was written, or not ours: as good as none.
    return undefined
  }
  if (typeof value !== 'object' || value === null) return undefined
  if (!('mountPath' in value) || typeof value.mountPath !== 'string') return undefined
  if (!('configHash' in value) || typeof value.configHash !== 'string') return undefined
  return {
    mountPath: value.mountPath,
    configHash: value.configHash,
    madeDirectory: 'madeDirectory' in value && value.madeDirectory === true,
  }
}
