import { BuildFailure, cancelled, type FinishedWithoutFiles } from '../../build/build-failure.ts'
import { runBuild, type BuildSemantics } from '../../build/run-build.ts'
import { ApiError, badRequest, notFound } from '../api-error.ts'
import { arrayOf, boolean, object, optional, string } from '../check.ts'
import type { Check } from '../check.ts'
import type { Schemas } from '../contract.ts'
import type { Platform } from '../platform.ts'
import { route } from '../route.ts'
import type { BuildRecord } from '../state.ts'
import { ownTemplateById } from './access.ts'
import { overlappingBuilds } from './request-build.ts'
import { isTagged } from './resolve.ts'
import { forgetTags } from './tag-cache.ts'

/** From its start to its end, whatever it does. */
const BUILD_LIMIT_MS = 60 * 60 * 1000

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
  gap: 'no image is pulled',
  handle(platform, call) {
    const template = ownTemplateById(platform, call.parameter('templateID'))
    const build = platform.state.builds.get(call.parameter('buildID'))
    // Under the name of a snapshot a build can be requested, and then not be started.
    const startable = build?.templateId === template.id && isTagged(template, build) && template.source.kind === 'build'
    if (!startable) {
      throw notFound('Error when getting template: build not found')
    }

    // In this order on the platform too: a late start of a superseded build kills the running one and is then refused.
    const running = overlappingBuilds(platform, template, build.tags).filter(
      (other) => other !== build && other.state.status === 'building',
    )
    for (const other of running) cancelRunning(other, platform.finishCancelledBuilds.shift())
    if (build.state.status !== 'waiting') throw badRequest('build is not in waiting state')
    const { fromImage, fromTemplate } = call.body
    if ((fromImage === undefined) === (fromTemplate === undefined)) {
      throw new ApiError(500, 'Error when starting template build: exactly one of fromImage and fromTemplate is needed')
    }
    begin(platform, build, call.body, { defaultUser: !isLegacyClient(call.header('User-Agent')) })
    return call.reply(202)
  },
})

function begin(
  platform: Platform,
  build: BuildRecord,
  definition: Schemas['TemplateBuildStartV2'],
  semantics: BuildSemantics,
): void {
  const cancel = new AbortController()
  const cancelTimer = platform.clock.schedule(
    () => cancel.abort(new BuildFailure('build timed out. Maximum build time is 1h0m0s')),
    BUILD_LIMIT_MS,
  )
  const { orphanedBuilds } = platform.state
  const settled = runBuild(platform, build, definition, { ...semantics, signal: cancel.signal }).then(() => {
    cancelTimer()
    if (!orphanedBuilds.delete(build.id)) forgetTags(platform.state, build.templateId, build.tags)
    return undefined
  })
  build.state = { status: 'building', cancel, settled }
  build.updatedAt = platform.clock.now()
}

/** Ends a running build: as cancelled, or as the reason says. */
export function cancelRunning(build: BuildRecord, reason: BuildFailure | FinishedWithoutFiles = cancelled()): void {
  if (build.state.status === 'building') build.state.cancel.abort(reason)
}

/** JavaScript SDKs before 2.3.0, by their User-Agent; whoever else asks gets what is current. */
function isLegacyClient(userAgent: string | undefined): boolean {
  const [, major, minor] = /^e2b-js-sdk\/(\d+)\.(\d+)\./.exec(userAgent ?? '') ?? []
  if (major === undefined || minor === undefined) return false
  return Number(major) < 2 || (Number(major) === 2 && Number(minor) < 3)
}
