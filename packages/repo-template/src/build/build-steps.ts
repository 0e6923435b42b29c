import { quoteShell } from '@warmbox/resolution'
import type { TemplateBuilder } from 'e2b'
import { commandLine } from '../checkout/git-lines.ts'
import { recordLines, RECORD_IN_GIT, TEMPLATE_RECORD } from '../checkout/record.ts'
import { blanked, credentialStep, environmentSteps, exportLines } from './build-environment.ts'
import { type CheckoutPlan, cloneScript, directoryScript, lfsScript, unpackScript } from './checkout-steps.ts'
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

/**
 * Appends a repository to a builder: directory, checkout, one step per setup command, record.
 *
 * The credential's ENV step stands right before the clone and is blanked right after it: what comes before keeps its
 * cached layers whatever the token, and setup commands, which run other people's code, never see it.
 */
export const appendBuildSteps = (base: TemplateBuilder, plan: BuildPlan): TemplateBuilder => {
  const names = Object.keys(plan.environment)
  const environment = environmentSteps(plan.environment)

  let steps = base.runCmd(directoryScript(plan.directory), root)
  if (plan.parts.lfs) steps = steps.runCmd(lfsScript, root)
  steps =
    plan.source.kind === 'clone'
      ? appendClone(steps, plan, environment)
      : withVariables(steps.copy(plan.source.copied, `${plan.directory}/.git`, user), environment).runCmd(
          unpackScript(plan),
          user,
        )
  for (const [index, command] of plan.setupCommands.entries()) {
    const name = `setup ${index + 1} of ${plan.setupCommands.length}`
    steps = steps.runCmd(setupScript(name, plan.directory, names, command), user)
  }
  return withVariables(steps.runCmd(recordScript(plan), user), blanked(environment))
}

const appendClone = (
  builder: TemplateBuilder,
  plan: BuildPlan,
  environment: Readonly<Record<string, string>>,
): TemplateBuilder => {
  const credential = credentialStep(plan.credential)
  // E2B keys a cached layer by the step's text, which for an unpinned clone is the same at every commit.
  const fresh = plan.wanted.sha === undefined ? builder.skipCache() : builder
  const cloned = withVariables(fresh, { ...environment, ...credential }).runCmd(
    cloneScript(plan, Object.keys(plan.environment)),
    user,
  )
  return withVariables(cloned, blanked(credential))
}

const withVariables = (builder: TemplateBuilder, variables: Readonly<Record<string, string>>): TemplateBuilder =>
  Object.keys(variables).length === 0 ? builder : builder.setEnvs({ ...variables })

const setupScript = (name: string, directory: string, names: readonly string[], command: string): string =>
  stepScript(name, [...exportLines(names), `cd -- ${quoteShell(directory)}`, commandLine(command)])

const recordScript = (plan: BuildPlan): string =>
  stepScript('record', [
    `cd -- ${quoteShell(plan.directory)}`,
    ...recordLines({ repository: plan.repository, path: plan.directory }),
    `warmbox_record=${quoteShell(TEMPLATE_RECORD)}`,
    'mkdir -p -- "$(dirname -- "$warmbox_record")"',
    `cp -- "$warmbox_git_directory/${RECORD_IN_GIT}" "$warmbox_record"`,
  ])
