import { createDefaultMountableTemplate, settleBackgroundBuilds } from '@warmbox/resolution'
import { refreshRepoTemplate, type RepoTemplateOptions } from '@warmbox/repo-template'

import { countFilesWithNeedles, needlesOf } from './leaks.ts'
import { seconds } from './relay.ts'
import { runSession, type SessionHost, type SessionReport } from './session.ts'

export interface RefreshReport {
  readonly action: 'reused' | 'built'
  readonly ref: string
  readonly sha: string | null
  readonly durationMs: number
}

export interface WalkSummary {
  readonly sessions: readonly SessionReport[]
  readonly refreshes: readonly RefreshReport[]
  /** Places among relayed logs, events, errors and the finished sandbox's files that held the token or a form of it. */
  readonly tokenLeaks: number
}

/** Needs nothing from any network, in any repository: counts the files of the checkout, where git does not see the count. */
const SETUP_COMMAND =
  'git ls-files | wc -l > .git/warmbox-demo-files && echo "set up for $(cat .git/warmbox-demo-files) files"'

/** The life of one repository's template, one session after another. */
export async function walk(host: SessionHost): Promise<WalkSummary> {
  const { origin, printer, relay, signal } = host
  const startedAt = new Date(Date.now() - 5 * 60_000)
  const template = templateOptions(host, SETUP_COMMAND)
  const needles = origin.token === undefined ? [] : needlesOf(origin.token)
  const sessions: SessionReport[] = []
  let leakedFiles = 0

  sessions.push(
    await runSession(host, { name: 'cold start', expectation: 'no template yet: clone, set up, boot', template }),
  )
  sessions.push(await runSession(host, { name: 'warm start', expectation: 'the exact build is there', template }))

  const moved = await origin.advance()
  sessions.push(
    await runSession(host, {
      name: 'moved head',
      expectation: `${moved.slice(0, 8)} was pushed: boot the last good build, build the new one behind it`,
      template,
      sync: { sha: moved, setupCommand: SETUP_COMMAND },
    }),
  )
  printer.detail('waiting for the background build')
  await settleBackgroundBuilds()
  signal.throwIfAborted()
  sessions.push(
    await runSession(host, {
      name: 'caught up',
      expectation: 'the new head is built by now',
      template,
      inspect: async (sandbox) => {
        leakedFiles = await countFilesWithNeedles(sandbox, needles, startedAt)
      },
    }),
  )
  sessions.push(
    await runSession(host, {
      name: 'broken setup',
      expectation: 'the setup command fails: boot the fallback, clone in the session',
      template: templateOptions(host, `${SETUP_COMMAND} && echo 'about to fail' && false`),
      sync: { sha: moved, setupCommand: SETUP_COMMAND },
    }),
  )

  printer.heading('refresh - nothing was pushed since: there is nothing to build')
  const refreshes = [await refresh(host, template)]
  const pushed = await origin.advance()
  printer.heading(`refresh - ${pushed.slice(0, 8)} was pushed: build it before anyone asks`)
  refreshes.push(await refresh(host, template))
  sessions.push(
    await runSession(host, { name: 'after refresh', expectation: 'the refreshed build is exact', template }),
  )

  return { sessions, refreshes, tokenLeaks: relay.countOccurrences(needles) + leakedFiles }
}

function templateOptions({ origin }: SessionHost, setupCommand: string): RepoTemplateOptions {
  const fallback = createDefaultMountableTemplate()
  return {
    getRepositoryAccess: async () => ({
      cloneUrl: origin.cloneUrl,
      ...(origin.token === undefined ? {} : { authorization: { scheme: 'bearer', token: origin.token } as const }),
    }),
    setupCommand,
    fallbackTemplate: {
      ref: `${fallback.id}:default`,
      template: fallback.template,
      buildResources: fallback.resources,
    },
    ...(origin.certificateAuthority === undefined ? {} : { certificateAuthority: origin.certificateAuthority }),
    ...(origin.resolveHead === undefined ? {} : { resolveHead: origin.resolveHead }),
  }
}

async function refresh(
  { platform, printer, relay, signal }: SessionHost,
  template: RepoTemplateOptions,
): Promise<RefreshReport> {
  const started = performance.now()
  const result = await refreshRepoTemplate(template, { ...platform.connection, signal, onEvent: relay.onEvent })
  const durationMs = Math.round(performance.now() - started)
  printer.result(`refresh: ${result.action} ${result.ref} in ${seconds(durationMs)}`)
  return { action: result.action, ref: result.ref, sha: result.sha ?? null, durationMs }
}
