import { EmulatorError } from './errors.ts'
import { isRecord } from './is-record.ts'
import { unknownName } from './known-names.ts'
import type { Platform, ScriptedBuildFailure } from './platform/platform.ts'
import type { ForeignTemplate } from './platform/public-template.ts'
import { isTemplateName } from './platform/template-ref.ts'

const failureFields: readonly string[] = ['message', 'step'] satisfies (keyof ScriptedBuildFailure)[]
const templateFields: readonly string[] = ['name', 'namespace', 'public'] satisfies (keyof ForeignTemplate)[]

/** What the SDK can find a step by: the two phases around the steps, or the number of one. */
const STEP = /^(?:base|finalize|\d+)$/

/** Throws `INVALID_OPTION` for what no build could end with, and names the field. */
export function assertBuildFailure(failure: unknown): asserts failure is ScriptedBuildFailure {
  const refuse = refusalBy('failNextBuild')
  if (!isRecord(failure)) throw refuse("the failure must be an object such as { message: 'disk full', step: '3' }")
  assertFields('failNextBuild', failure, failureFields)
  const { message, step } = failure
  if (typeof message !== 'string') throw refuse('message must be a string')
  if (!(step === undefined || (typeof step === 'string' && STEP.test(step)))) {
    throw refuse("step must be the number of a step as a string, 'base' or 'finalize'")
  }
}

/** Throws `INVALID_OPTION` for a template that no other account could have, and names the field. */
export function assertForeignTemplate(
  template: unknown,
  { state, team }: Platform,
): asserts template is ForeignTemplate {
  const refuse = refusalBy('addForeignTemplate')
  if (!isRecord(template)) {
    throw refuse("the template must be an object such as { name: 'tool', namespace: 'them', public: true }")
  }
  assertFields('addForeignTemplate', template, templateFields)
  const { name, namespace } = template
  if (!isName(name)) throw refuse('name must be of [a-z0-9-_]')
  if (!(namespace === null || isName(namespace))) throw refuse('namespace must be of [a-z0-9-_], or null for none')
  if (namespace === team.slug) throw refuse(`namespace must be somebody else's: ${team.slug} is the team's own`)
  if (typeof template['public'] !== 'boolean') throw refuse('public must be true or false')
  const isTaken = [...state.templates.values()].some((other) => other.namespace === namespace && other.name === name)
  if (isTaken) throw refuse(`name is taken: there is a template ${namespace === null ? name : `${namespace}/${name}`}`)
}

const isName = (value: unknown): value is string => typeof value === 'string' && isTemplateName(value)

function assertFields(call: string, value: object, known: readonly string[]): void {
  const unknown = unknownName(value, known)
  if (unknown === undefined) return
  const hint = unknown.guess ?? `The fields are ${known.join(', ')}.`
  throw new EmulatorError('INVALID_OPTION', `${call}: there is no field ${unknown.name}`, { hint })
}

const refusalBy = (call: string) => (problem: string) => new EmulatorError('INVALID_OPTION', `${call}: ${problem}`)
