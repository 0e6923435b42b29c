import { badRequest, notFound } from '../api-error.ts'
import type { Schemas } from '../contract.ts'
import { atLeast } from '../log-level.ts'
import type { Platform } from '../platform.ts'
import { integerQuery } from '../query.ts'
import { route } from '../route.ts'
import type { BuildRecord } from '../state.ts'
import { isUuid } from '../template-ref.ts'
import { assertOwn } from './access.ts'
import { isTagged } from './resolve.ts'

/** Entries one status answer carries at most. */
const LOGS_PER_ANSWER = 100

export const buildStatus = route('get', '/templates/{templateID}/builds/{buildID}/status', {
  handle(platform, call) {
    const build = findBuild(platform, call.parameter('templateID'), call.parameter('buildID'))
    const offset = integerQuery('logsOffset', call.query('logsOffset'), { minimum: 0 }) ?? 0
    const requested = integerQuery('limit', call.query('limit'), { minimum: 0, maximum: LOGS_PER_ANSWER })
    const logEntries = build.logs
      .filter(atLeast(call.query('level')))
      .slice(offset, offset + (requested ?? LOGS_PER_ANSWER))
    return call.reply(200, describeBuild(build, logEntries))
  },
})

export const buildLogs = route('get', '/templates/{templateID}/builds/{buildID}/logs', {
  gap: 'the source filter is ignored: there is one store',
  handle(platform, call) {
    const build = findBuild(platform, call.parameter('templateID'), call.parameter('buildID'))
    const limit =
      integerQuery('limit', call.query('limit'), { minimum: 0, maximum: LOGS_PER_ANSWER }) ?? LOGS_PER_ANSWER
    const cursor = integerQuery('cursor', call.query('cursor'), { minimum: 0 })
    const forward = call.query('direction') !== 'backward'
    const after = build.logs.filter(atLeast(call.query('level'))).filter(({ timestamp }) => {
      if (cursor === undefined) return true
      return forward ? Date.parse(timestamp) >= cursor : Date.parse(timestamp) <= cursor
    })
    const ordered = forward ? after : after.toReversed()
    return call.reply(200, { logs: ordered.slice(0, limit) })
  },
})

/** An unknown build is a 400 here, not a 404, and so is one that no tag leads to. */
function findBuild(platform: Platform, templateId: string, buildId: string): BuildRecord {
  if (!isUuid(buildId)) throw badRequest(`Invalid build ID: ${buildId}`)
  const build = platform.state.builds.get(buildId)
  const template = build === undefined ? undefined : platform.state.templates.get(build.templateId)
  if (build === undefined || template === undefined || !isTagged(template, build)) {
    throw badRequest(`Build '${buildId}' not found`)
  }
  assertOwn(template, template.id)
  if (template.id !== templateId) throw notFound(`Build '${buildId}' not found for template '${templateId}'`)
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
