import { runBuild } from '../../build/run-build.ts'
import { ApiError, badRequest, notFound } from '../api-error.ts'
import { arrayOf, boolean, object, optional, string } from '../check.ts'
import type { Check } from '../check.ts'
import type { Schemas } from '../contract.ts'
import type { Platform } from '../platform.ts'
import { route } from '../route.ts'
import type { BuildRecord } from '../state.ts'
import { ownTemplateById } from './access.ts'
import { overlappingBuilds } from './request-build.ts'

const registryCheck: Check<Schemas['FromImageRegistry']> = (value, at) => {
  // Recorded by nobody: the emulator pulls no image, and credentials are best not kept.
  const { type } = object<{ type: string }>({ type: string })(value, at)
  switch (type) {
    case 'registry':
      return object<Schemas['GeneralRegistry']>({ type: () => 'registry', username: string, password: string })(
        value,
        at,
      )
    case 'aws':
      return object<Schemas['AWSRegistry']>({
        type: () => 'aws',
        awsAccessKeyId: string,
        awsSecretAccessKey: string,
        awsRegion: string,
      })(value, at)
    case 'gcp':
      return object<Schemas['GCPRegistry']>({ type: () => 'gcp', serviceAccountJson: string })(value, at)
    default:
      throw badRequest(`validation error: request body has an error: "${at}/type" must be one of registry, aws, gcp`)
  }
}

const bodyCheck = object<Schemas['TemplateBuildStartV2']>({
  force: optional(boolean),
  fromImage: optional(string),
  fromImageRegistry: optional(registryCheck),
  fromTemplate: optional(string),
  readyCmd: optional(string),
  startCmd: optional(string),
  steps: optional(
    arrayOf(
      object<Schemas['TemplateStep']>({
        args: optional(arrayOf(string)),
        filesHash: optional(string),
        force: optional(boolean),
        type: string,
      }),
    ),
  ),
})

/** Starts a requested build; running builds of the template that share a tag are cancelled first. */
export const startBuild = route('post', '/v2/templates/{templateID}/builds/{buildID}', {
  body: bodyCheck,
  gap: 'no image is pulled; User-Agent selects nothing',
  handle(platform, call) {
    const template = ownTemplateById(platform, call.parameter('templateID'))
    const build = platform.state.builds.get(call.parameter('buildID'))
    if (build?.templateId !== template.id) throw notFound('Error when getting template: build not found')

    // In this order on the platform too: a late start of a superseded build kills the running one and is then refused.
    for (const other of overlappingBuilds(platform, template, build.tags)) if (other !== build) cancelRunning(other)
    if (build.state.status !== 'waiting') throw badRequest('build is not in waiting state')
    const { fromImage, fromTemplate } = call.body
    if ((fromImage === undefined) === (fromTemplate === undefined)) {
      throw new ApiError(500, 'Error when starting template build: exactly one of fromImage and fromTemplate is needed')
    }
    begin(platform, build, call.body)
    return call.reply(202)
  },
})

function begin(platform: Platform, build: BuildRecord, definition: Schemas['TemplateBuildStartV2']): void {
  const cancel = new AbortController()
  build.state = { status: 'building', cancel, settled: runBuild(platform, build, definition, cancel.signal) }
  build.updatedAt = platform.clock.now()
}

export function cancelRunning(build: BuildRecord): void {
  if (build.state.status === 'building') build.state.cancel.abort()
}
