import { contentTemplateName, mountableTemplateId } from '@warmbox/identity'
import { applyMountableSteps, type TemplateResources } from '@warmbox/resolution'
import { Template, type TemplateBuilder } from 'e2b'

export interface BaseOptions {
  readonly resources: Required<TemplateResources>
  readonly nodeVersion: string
  readonly customize: ((builder: TemplateBuilder) => TemplateBuilder) | undefined
  /** Where COPY steps look for their files; absent, where the SDK lets them. */
  readonly context: string | undefined
}

/** What an image starts from, and under which id that is part of its name. */
export interface Base {
  readonly builder: TemplateBuilder
  readonly id: string
}

/** What of a step the platform acts upon. The SDK writes more than that, and other things in other versions. */
interface Step {
  readonly type: string
  readonly args: readonly string[]
  readonly filesHash?: string
}

interface Body {
  readonly fromImage?: string
  readonly fromTemplate?: string
  readonly fromImageRegistry?: unknown
  readonly startCmd?: string
  readonly readyCmd?: string
  readonly steps: readonly Step[]
}

/**
 * The default mountable template, or what the caller makes of it. A customised base is known by its content, hashes of
 * files it copies included; what a template it is built on holds is not looked at.
 *
 * @throws what the caller's function throws, TypeError where it answers no builder.
 */
export const prepareBase = async ({ resources, nodeVersion, customize, context }: BaseOptions): Promise<Base> => {
  const plain = applyMountableSteps(
    Template(context === undefined ? undefined : { fileContextPath: context }).fromBaseImage(),
    { ...resources, nodeVersion },
  )
  if (customize === undefined) return { builder: plain, id: mountableTemplateId({ nodeVersion, ...resources }) }
  const builder: unknown = customize(plain)
  if (!isBuilder(builder)) throw new TypeError('base answered no template builder')
  const { fromImage, fromTemplate, fromImageRegistry, startCmd, readyCmd, steps }: Body = JSON.parse(
    await Template.toJSON(builder, true),
  )
  const content = JSON.stringify({
    fromImage,
    fromTemplate,
    fromImageRegistry,
    startCmd,
    readyCmd,
    steps: steps.map(({ type, args, filesHash }) => ({ type, args, filesHash })),
  })
  return { builder, id: contentTemplateName({ template: content, ...resources }) }
}

const isBuilder = (value: unknown): value is TemplateBuilder =>
  typeof value === 'object' &&
  value !== null &&
  'runCmd' in value &&
  typeof value.runCmd === 'function' &&
  'copy' in value &&
  typeof value.copy === 'function'
