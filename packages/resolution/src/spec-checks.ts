import {
  assertFunction,
  assertKnownNames,
  assertResources,
  assertStrings,
  isRecord,
  refuseInput,
} from './option-checks.ts'
import type { NamedTemplateSpec } from './spec.ts'

const NAMES: Readonly<Record<keyof NamedTemplateSpec, true>> = {
  ref: true,
  template: true,
  fallbackTemplate: true,
  staleRef: true,
  buildRef: true,
  buildTags: true,
  incremental: true,
  buildResources: true,
  isCurrent: true,
  refused: true,
  redact: true,
}

/** Where a spec was written: by the caller himself, or answered by a deferred spec, which may say more than is asked. */
export type SpecOrigin = 'given' | 'deferred'

/**
 * Checks the form of everything in a named spec but its fallback. What its refs and tags may look like is checked where
 * they are read.
 * @param where what stands before the name of a field: nothing, or `fallbackTemplate.`
 * @throws ResolutionError `INVALID_SPEC`
 */
export function assertNamedForm(spec: NamedTemplateSpec, where: string, origin: SpecOrigin): void {
  const { buildRef, buildResources, buildTags, incremental, isCurrent, redact, refused, staleRef, template } = spec
  assertBuilder(`${where}template`, template)
  // JSON.stringify asks for toJSON, so that a spec can keep its secrets.
  const what = where === '' ? 'a named spec' : 'the named spec that is the fallbackTemplate'
  assertKnownNames(what, spec, { ...NAMES, toJSON: true }, { isOpen: origin === 'deferred' })
  assertRef(`${where}staleRef`, staleRef)
  assertRef(`${where}buildRef`, buildRef)
  assertStrings(`${where}buildTags`, buildTags)
  assertStrings(`${where}redact`, redact)
  assertFunction(`${where}isCurrent`, isCurrent)
  assertResources(`${where}buildResources`, buildResources)
  assertIncremental(`${where}incremental`, incremental)
  assertRefused(`${where}refused`, refused)
}

/** A builder of `Template()`, of whichever copy of the SDK. */
export const isBuilder = (template: unknown): boolean =>
  isRecord(template) && 'runCmd' in template && typeof template.runCmd === 'function'

/** @throws ResolutionError `INVALID_SPEC` unless it is a builder of `Template()` */
export function assertBuilder(where: string, template: unknown): void {
  if (isBuilder(template)) return
  refuseInput(
    `${where} is none of the forms a template has`,
    'Give a ref, a builder of Template(), a function that returns one, or a spec with ref and template',
  )
}

function assertRef(field: string, ref: unknown): void {
  if (ref === undefined || typeof ref === 'string') return
  refuseInput(`${field}: is not a string`, 'Write it like name:tag, or leave it out')
}

function assertIncremental(field: string, incremental: unknown): void {
  if (incremental === undefined) return
  const hint = 'Give an object with the function from and the list cleanTags, or leave it out'
  if (!isRecord(incremental)) refuseInput(`${field} is not an object`, hint)
  if (!('from' in incremental && typeof incremental.from === 'function')) {
    refuseInput(`${field}.from is not a function`, hint)
  }
  if (!('cleanTags' in incremental && incremental.cleanTags !== undefined)) {
    refuseInput(`${field}.cleanTags is missing`, hint)
  }
  assertStrings(`${field}.cleanTags`, incremental.cleanTags)
}

function assertRefused(field: string, refused: unknown): void {
  if (refused === undefined) return
  const isTold =
    isRecord(refused) && 'code' in refused && isText(refused.code) && 'message' in refused && isText(refused.message)
  if (!isTold) {
    refuseInput(`${field} does not say why`, 'Give an object with the strings code and message, or leave it out')
  }
}

const isText = (value: unknown): boolean => typeof value === 'string' && value !== ''
