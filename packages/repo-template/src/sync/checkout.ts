import { type CheckoutRecord, parseRecord } from '../checkout/record.ts'
import { RepoTemplateError } from '../errors.ts'
import type { SyncTarget } from './target.ts'

/** What a sync found in the sandbox. */
export interface Checkout {
  readonly head: string
  readonly lockfiles: string
  readonly worktree: string
  readonly clean: boolean
  readonly changed: readonly string[]
  readonly partsDue: boolean
  readonly record: CheckoutRecord | undefined
}

/**
 * Reads what the inspection printed; `undefined` for no checkout.
 *
 * @throws RepoTemplateError `CHECKOUT_FOREIGN` for one of another repository, `SYNC_FAILED` for no answer.
 */
export const readCheckout = (
  fields: ReadonlyMap<string, string>,
  target: Pick<SyncTarget, 'path' | 'repository'>,
): Checkout | undefined => {
  if (fields.get('state') === 'none') return undefined
  const head = fields.get('head')
  if (fields.get('state') !== 'checkout' || head === undefined) {
    throw new RepoTemplateError({
      code: 'SYNC_FAILED',
      message: 'The sandbox gave no answer about the checkout',
      hint: 'executeCommand must answer what the command wrote to its standard output.',
    })
  }
  const record = parseRecord(fields.get('record') ?? '')
  if (record !== undefined && record.repository !== target.repository) {
    throw new RepoTemplateError({
      code: 'CHECKOUT_FOREIGN',
      field: 'workingDirectory',
      message: `${target.path} holds a checkout that was made of another repository`,
      hint: 'Give each repository of a sandbox a workingDirectory of its own.',
    })
  }
  const names = new TextDecoder().decode(
    Uint8Array.from(atob(fields.get('changed') ?? ''), (character) => character.charCodeAt(0)),
  )
  return {
    head,
    lockfiles: fields.get('lockfiles') ?? '',
    worktree: fields.get('worktree') ?? '',
    clean: fields.get('clean') === 'yes',
    changed: names.split('\0').filter((name) => name !== ''),
    partsDue: fields.get('parts') === 'due',
    record,
  }
}
