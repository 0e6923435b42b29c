import { isWarmboxError, type NamedTemplateSpec } from '@warmbox/resolution'
import { E2BSandbox, type E2BSandboxOptions } from '@warmbox/sandbox'
import { Template } from 'e2b'

/** The step every template of these runs is built with; how long it takes is the emulator's to say. */
export const BUILD_STEP = 'prepare the repository'

/** A spec whose content differs by its ref, so that no two builds share a layer. */
export const specOf = (ref: string, rest: Partial<NamedTemplateSpec> = {}): NamedTemplateSpec => ({
  ref,
  template: Template().fromBaseImage().runCmd(`${BUILD_STEP} at ${ref}`),
  ...rest,
})

export const codeOf = (error: unknown): string =>
  isWarmboxError(error) ? error.code : error instanceof Error ? error.name : typeof error

/** Starts a session and says on which rung. */
export async function startSession(options: E2BSandboxOptions): Promise<{ sandbox: E2BSandbox; isFallback: boolean }> {
  const sandbox = new E2BSandbox(options)
  await sandbox._start()
  const rung = sandbox.lastBoot?.rung
  return { sandbox, isFallback: rung === 'fallback' || rung === 'default' || rung === 'rebuilt' }
}

/** What a run without faults and retries has to tell. */
export const plainResult = (started: readonly { readonly isFallback: boolean }[]) => ({
  started: started.length,
  fallbacks: started.filter(({ isFallback }) => isFallback).length,
  wedged: 0,
  wedgedBy: [],
  duplicates: 0,
  rssGrowthMB: 0,
  retried: {},
})
