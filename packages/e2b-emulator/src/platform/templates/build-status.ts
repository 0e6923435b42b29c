import { badRequest, notFound } from '../api-error.ts'
import type { Schemas } from '../contract.ts'
import { integerQuery } from '../query.ts'
import { route } from '../route.ts'
import type { BuildRecord } from '../state.ts'
import { isUuid } from '../template-ref.ts'
import { ownTemplateById } from './access.ts'

/** Entries one status answer carries at most. */
const LOGS_PER_ANSWER = 100

export const buildStatus = route('get', '/templates/{templateID}/builds/{buildID}/status', {
  gap: 'the log level filter is ignored',
  handle(platform, call) {
    const build = findBuild(platform.state.builds, call.parameter('templateID'), call.parameter('buildID'))
    ownTemplateById(platform, build.templateId)
    const offset = integerQuery('logsOffset', call.query('logsOffset'), { minimum: 0 }) ?? 0
    const requested = integerQuery('limit', call.query('limit'), { minimum: 0, maximum: LOGS_PER_ANSWER })
    const logEntries = build.logs.slice(offset, offset + (requested ?? LOGS_PER_ANSWER))
    return call.reply(200, describeBuild(build, logEntries))
  },
})

export const buildLogs = route('get', '/templates/{templateID}/builds/{buildID}/logs', {
  gap: 'the level and source filters are ignored',
  handle(platform, call) {
    const build = findBuild(platform.state.builds, call.parameter('templateID'), call.parameter('buildID'))
    ownTemplateById(platform, build.templateId)
    const limit =
      integerQuery('limit', call.query('limit'), { minimum: 0, maximum: LOGS_PER_ANSWER }) ?? LOGS_PER_ANSWER
    const cursor = integerQuery('cursor', call.query('cursor'), { minimum: 0 })
    const forward = call.query('direction') !== 'backward'
    const after = build.logs.filter(({ timestamp }) => {
      if (cursor === undefined) return true
      return forward ? Date.parse(timestamp) >= cursor : Date.parse(timestamp) <= cursor
    })
    const ordered = forward ? after : after.toReversed()
    return call.reply(200, { logs: ordered.slice(0, limit) })
  },
})

/** An unknown build is a 400 here, not a 404: the platform answers so. */
function findBuild(builds: ReadonlyMap<string, BuildRecord>, templateId: string, buildId: string): BuildRecord {
  if (!isUuid(buildId)) throw badRequest(`Invalid build ID: ${buildId}`)
  const build = builds.get(buildId)
  if (build === undefined) throw badRequest(`Build '${buildId}' not found`)
  if (build.templateId !== templateId) throw notFound(`Build '${buildId}' not found for template '${templateId}'`)
  return build
}

function describeBuild(build: BuildRecord, logEntries: Schemas['BuildLogEntry'][]): Schemas['TemplateBuildInfo'] {
  const { state } = build
  return {
    templateID: build.templateId,
    buildID: build.id,
    status: state.status,
    logEntries,
    logs: logEntries.map(({ message }) => message),
    ...(state.status === 'error'
      ? {
          reason: {
            message: state.reason.message,
            ...(state.reason.step === undefined ? {} : { step: state.reason.step }),
            logEntries: build.logs.filter(({ step, level }) => step === state.reason.step && level === 'error'),
          },
        }
      : {}),
  }
}
