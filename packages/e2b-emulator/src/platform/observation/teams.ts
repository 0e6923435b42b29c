import { badRequest, forbidden } from '../api-error.ts'
import { isoTime, type Platform } from '../platform.ts'
import { integerQuery } from '../query.ts'
import { route } from '../route.ts'

const RATE_WINDOW_MS = 60_000

/** The one team. Its key is not repeated. */
export const listTeams = route('get', '/teams', {
  gap: 'one team; its key is masked',
  handle: ({ team }, { reply }) =>
    reply(200, [{ teamID: team.id, name: team.slug, isDefault: true, apiKey: 'e2b_********' }]),
})

/** One entry per moment at which a sandbox began or ceased to run, and one for now. */
export const teamMetrics = route('get', '/teams/{teamID}/metrics', {
  handle(platform, { parameter, query, reply }) {
    assertTeam(platform, parameter('teamID'))
    const entries = measured(platform, interval(query('start'), query('end')))
    return reply(
      200,
      entries.map(({ at, running, startRate }) => ({
        timestamp: isoTime(at),
        timestampUnix: Math.floor(at / 1000),
        concurrentSandboxes: running,
        sandboxStartRate: startRate,
      })),
    )
  },
})

export const teamMetricsMaximum = route('get', '/teams/{teamID}/metrics/max', {
  handle(platform, { parameter, query, reply }) {
    assertTeam(platform, parameter('teamID'))
    const metric = query('metric')
    if (metric !== 'concurrent_sandboxes' && metric !== 'sandbox_start_rate') {
      throw badRequest('validation error: parameter "metric" in query has an error: value is not one of the allowed')
    }
    const valueOf = (entry: Measured) => (metric === 'concurrent_sandboxes' ? entry.running : entry.startRate)
    const entries = measured(platform, interval(query('start'), query('end')))
    const highest = entries.reduce((best, entry) => (valueOf(entry) > valueOf(best) ? entry : best))
    return reply(200, {
      timestamp: isoTime(highest.at),
      timestampUnix: Math.floor(highest.at / 1000),
      value: valueOf(highest),
    })
  },
})

function assertTeam(platform: Platform, id: string): void {
  if (id !== platform.team.id) throw forbidden("You don't have access to this team")
}

/** Unix seconds as milliseconds, ends included. */
function interval(start: string | undefined, end: string | undefined): { from: number; to: number } {
  const from = (integerQuery('start', start, { minimum: 0 }) ?? 0) * 1000
  const to = (integerQuery('end', end, { minimum: 0 }) ?? Number.MAX_SAFE_INTEGER / 1000 - 1) * 1000 + 999
  if (to < from) throw badRequest('end must not be before start')
  return { from, to }
}

interface Measured {
  readonly at: number
  readonly running: number
  /** Sandboxes started per second, over the minute before. */
  readonly startRate: number
}

/** At every change within the interval, oldest first, and now. */
function measured(platform: Platform, { from, to }: { from: number; to: number }): readonly Measured[] {
  const { activity } = platform.state
  const rateAt = (moment: number) =>
    activity.filter(({ at, started }) => started && at > moment - RATE_WINDOW_MS && at <= moment).length /
    (RATE_WINDOW_MS / 1000)
  const changes = activity.filter(({ at }) => at >= from && at <= to)
  const now = { at: platform.clock.now(), running: activity.at(-1)?.running ?? 0 }
  return [...changes, now].map(({ at, running }) => ({ at, running, startRate: rateAt(at) }))
}
