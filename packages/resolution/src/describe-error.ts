import { isWarmboxError } from '@warmbox/identity'

/** What an event or attempt tells of an error. The words are not ours and are redacted where they are told. */
export const describeError = (error: unknown): { readonly code?: string; readonly reason: string } => ({
  ...(isWarmboxError(error) ? { code: error.code } : {}),
  reason: error instanceof Error ? error.message : String(error),
})
