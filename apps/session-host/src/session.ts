import { randomUUID } from 'node:crypto'

import { parseCloneUrl } from '@warmbox/identity'
import { createRepoTemplate, syncRepository, type RepoTemplateOptions } from '@warmbox/repo-template'
import { type BootRung, E2BSandbox } from '@warmbox/sandbox'

import type { Origin } from './origin.ts'
import type { Platform } from './platform.ts'
import type { Printer } from './printer.ts'
import { seconds, type Relay } from './relay.ts'

export interface SessionReport {
  readonly name: string
  /** The rung the session booted from; null where it never started. */
  readonly rung: BootRung | null
  readonly ref: string | null
  /** The commit of the checkout when the session's command ran. */
  readonly sha: string | null
  readonly startMs: number
  readonly ok: boolean
}

export interface SessionPlan {
  readonly name: string
  /** What a person should know before it happens. */
  readonly expectation: string
  readonly template: RepoTemplateOptions
  /** Brings the checkout to this commit once started; `setupCommand` is what a set-up then runs. */
  readonly sync?: { readonly sha: string; readonly setupCommand: string }
  /** Runs in the finished sandbox, before it is destroyed. */
  readonly inspect?: (sandbox: E2BSandbox) => Promise<void>
}

export interface SessionHost {
  readonly platform: Platform
  readonly origin: Origin
  readonly printer: Printer
  readonly relay: Relay
  readonly signal: AbortSignal
}

/** The command every session runs in its checkout: shows which commit it has, and that the setup ran there. */
const SESSION_COMMAND =
  'git log -1 --format="%h %s" && echo "$(git ls-files | wc -l) files, setup saw $(cat .git/warmbox-demo-files 2>/dev/null || echo nothing yet)"'

/** One session as a host runs it: boot, bring the checkout to the wanted commit, work in it, end. */
export async function runSession(host: SessionHost, plan: SessionPlan): Promise<SessionReport> {
  const { origin, printer, relay, signal } = host
  printer.heading(`${plan.name} - ${plan.expectation}`)
  const sandbox = new E2BSandbox({
    ...host.platform.connection,
    id: `demo-${plan.name.replaceAll(' ', '-')}-${randomUUID().slice(0, 8)}`,
    template: createRepoTemplate(plan.template),
    timeout: 10 * 60_000,
    onEvent: relay.onEvent,
  })
  const started = performance.now()
  let startMs = 0
  let sha: string | null = null
  let ok = false
  try {
    await sandbox._start({ abortSignal: signal })
    startMs = Math.round(performance.now() - started)
    const boot = sandbox.lastBoot
    printer.result(`rung ${boot?.rung ?? 'none'}, ${boot?.ref ?? 'no ref'}, started in ${seconds(startMs)}`)
    if (plan.sync !== undefined) await bringTo(host, sandbox, plan.template, plan.sync)
    sha = await readHead(sandbox, checkoutOf(origin.cloneUrl))
    ok = await runCommand(host, sandbox)
    await plan.inspect?.(sandbox)
  } catch (error) {
    relay.error(error)
    signal.throwIfAborted()
    printer.result(`failed: ${error instanceof Error ? error.message : String(error)}`)
    ok = false
  } finally {
    // A failure to destroy is a sandbox left running, which a host must hear of.
    await sandbox._destroy().catch((error: unknown) => {
      relay.error(error)
      ok = false
    })
  }
  return { name: plan.name, rung: sandbox.lastBoot?.rung ?? null, ref: sandbox.lastBoot?.ref ?? null, sha, startMs, ok }
}

async function bringTo(
  { printer, signal, relay }: SessionHost,
  sandbox: E2BSandbox,
  template: RepoTemplateOptions,
  { sha, setupCommand }: NonNullable<SessionPlan['sync']>,
): Promise<void> {
  const started = performance.now()
  const result = await syncRepository(sandbox, { ...template, sha, setupCommand, signal, onEvent: relay.onEvent })
  const how = result.cold ? 'full clone' : result.from === result.to ? 'already there' : 'fetch and checkout'
  printer.result(
    `sync ${result.from?.slice(0, 8) ?? 'nothing'} → ${result.to.slice(0, 8)}: ${how}, setup ${result.reran ? 'ran' : 'not needed'}, ${seconds(performance.now() - started)}`,
  )
}

async function readHead(sandbox: E2BSandbox, cwd: string): Promise<string> {
  const { stdout } = await sandbox.executeCommand('git', ['rev-parse', 'HEAD'], { cwd })
  return stdout.trim()
}

async function runCommand({ origin, printer, relay }: SessionHost, sandbox: E2BSandbox): Promise<boolean> {
  const result = await sandbox.executeCommand('bash', ['-c', SESSION_COMMAND], { cwd: checkoutOf(origin.cloneUrl) })
  relay.output(result.stdout + result.stderr)
  for (const line of (result.stdout + result.stderr).trim().split('\n')) printer.log(line)
  return result.exitCode === 0
}

/** Where a repository's template puts its checkout. */
export const checkoutOf = (cloneUrl: string): string => `/home/user/${parseCloneUrl(cloneUrl).directory}`
