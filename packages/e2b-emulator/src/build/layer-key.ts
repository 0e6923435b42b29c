import { createHash } from 'node:crypto'
import type { Schemas } from '../platform/contract.ts'

const digest = (...parts: readonly string[]) => createHash('sha256').update(parts.join('\n')).digest('hex')

/** An image counts by its text: a moved `latest` does not change the key. */
export const imageKey = (image: string): string => digest('image', image)

/** A parent template counts by the build it resolved to. */
export const parentKey = (buildId: string): string => digest('template', buildId)

/** Arguments are joined by a space, as on the platform: `["x root"]` and `["x", "root"]` share a key. */
export const stepKey = (parent: string, step: Schemas['TemplateStep']): string =>
  digest(parent, step.type.toUpperCase(), (step.args ?? []).join(' '), step.filesHash ?? '')
