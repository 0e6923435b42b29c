import { quoteShell } from '@warmbox/resolution'
import type { TemplateBuilder } from 'e2b'
import { commandLine, enterLines } from '../checkout/git-lines.ts'
import { recordLines, RECORD_IN_GIT, TEMPLATE_RECORD } from '../checkout/record.ts'
import { blanked, credentialStep, environmentSteps, exportLines } from './build-environment.ts'
import { type CheckoutPlan, cloneScript, directoryScript, lfsScript, unpackScript } from './checkout-steps.ts'
import { type IncrementalPlan, renewCopiedScript, renewScript, retireScript } from './incremental-steps.ts'
import { stepScript } from './step-script.ts'

export interface BuildPlan extends CheckoutPlan {
  /** Canonical clone URL for the record: that of the access, also where a redirect leads the clone elsewhere. */
  readonly repository: string
  /** Where the build gets the repository: it clones, or `copied` (relative to the builder's context) holds it. */
  readonly source: { readonly kind: 'clone' } | { readonly kind: 'upload'; readonly copied: string }
  readonly setupCommands: readonly string[]
  readonly environment: Readonly<Record<string, string>>
}

const user = Object.freeze({ user: 'user' })
const root = Object.freeze({ user: 'root' })

/** A plan for a builder that goes on from an earlier build. */
export type IncrementalBuildPlan = BuildPlan & IncrementalPlan

/**
 * Appends a repository to a builder: directory, checkout, one step per setup command; the last writes the record.
 *
 * The credential's ENV step stands right before the clone and is blanked right after it: what comes before keeps its
 * cached layers whatever the token, and setup commands, which run other people's code, never see it.
 */
export const appendBuildSteps = (base: TemplateBuilder, plan: BuildPlan): TemplateBuilder => {
  let steps = base.runCmd(directoryScript(plan.directory), root)
  if (plan.parts.lfs) steps = steps.runCmd(lfsScript, root)
  // E2B keys a cached layer by the step's text, which for an unpinned clone is the same at every commit.
  const fresh = plan.source.kind === 'clone' && plan.wanted.sha === undefined ? steps.skipCache() : steps
  const scripts = { online: cloneScript(plan, Object.keys(plan.environment)), copied: unpackScript(plan) }
  return appendSetup(appendCheckout(fresh, plan, scripts), plan)
}

/**
 * Appends to an earlier build of the same repository what makes it a build of another commit: the same checkout, setup
 * and record. Setup commands of the earlier build did run before the credential is there; it is in a step of its own
 * here too, and the repository they ran in is put aside by a step without it.
 */
export const appendIncrementalSteps = (parent: TemplateBuilder, plan: IncrementalBuildPlan): TemplateBuilder => {
  const scripts = { online: renewScript(plan, Object.keys(plan.environment)), copied: renewCopiedScript(plan) }
  return appendSetup(appendCheckout(parent.runCmd(retireScript(plan), user), plan, scripts), plan)
}

const appendCheckout = (
  builder: TemplateBuilder,
  plan: BuildPlan,
  scripts: { readonly online: string; readonly copied: string },
): TemplateBuilder => {
  const environment = environmentSteps(plan.environment)
  if (plan.source.kind === 'upload') {
    const repository = `${plan.directory}/.git`
    // A destination that COPY makes itself is root's, and git distrusts a repository of another user.
    const made = builder.runCmd(stepScript('repository', [`mkdir -p -- ${quoteShell(repository)}`]), user)
    const copied = made.copy(plan.source.copied, repository, user)
    return withVariables(copied, environment).runCmd(scripts.copied, user)
  }
  const credential = credentialStep(plan.credential)
  const cloned = withVariables(builder, { ...environment, ...credential }).runCmd(scripts.online, user)
  return withVariables(cloned, blanked(credential))
}

const appendSetup = (builder: TemplateBuilder, plan: BuildPlan): TemplateBuilder => {
  const names = Object.keys(plan.environment)
  const count = plan.setupCommands.length
  let steps = builder
  for (const [index, command] of plan.setupCommands.entries()) {
    const setup = setupLines(plan.directory, names, command)
    // Every step costs a snapshot of the file system: the record shares the last one's.
    const record = index + 1 === count ? ['warmbox_step=record', ...recordInImageLines(plan)] : []
    steps = steps.runCmd(stepScript(`setup ${index + 1} of ${count}`, [...setup, ...record]), user)
  }
  if (count === 0) steps = steps.runCmd(stepScript('record', recordInImageLines(plan)), user)
  return withVariables(steps, blanked(environmentSteps(plan.environment)))
}

const withVariables = (builder: TemplateBuilder, variables: Readonly<Record<string, string>>): TemplateBuilder =>
  Object.keys(variables).length === 0 ? builder : builder.setEnvs({ ...variables })

/** In a shell of its own, so that build variables reach the command and nothing after it. */
const setupLines = (directory: string, names: readonly string[], command: string): readonly string[] => [
  '(',
  ...exportLines(names),
  `cd -- ${quoteShell(directory)}`,
  commandLine(command),
  ')',
]

const recordInImageLines = (plan: BuildPlan): readonly string[] => [
  ...enterLines(quoteShell(plan.directory)),
  ...recordLines({ repository: plan.repository, path: plan.directory }),
  `warmbox_record=${quoteShell(TEMPLATE_RECORD)}`,
  'mkdir -p -- "$(dirname -- "$warmbox_record")"',
  `cp -- "$warmbox_git_directory/${RECORD_IN_GIT}" "$warmbox_record"`,
]
