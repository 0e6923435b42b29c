import type { CloneUrl } from '@warmbox/identity'
import { createDefaultMountableTemplate, type MountableTemplateOptions, quoteShell } from '@warmbox/resolution'
import type { TemplateBuilder } from 'e2b'
import { cloneLines, commandLine, hermeticGitLines, type Wanted } from '../checkout/git-lines.ts'
import { recordLines, RECORD_IN_GIT, TEMPLATE_RECORD } from '../checkout/record.ts'
import { blanked, CREDENTIAL_VARIABLE, credentialStep, environmentSteps, exportLines } from './build-environment.ts'
import { failFunction, stepScript } from './step-script.ts'

export interface BuildPlan {
  /** What git is given. */
  readonly clone: CloneUrl
  /** Canonical clone URL for the record: that of the access, also where a redirect leads the clone elsewhere. */
  readonly repository: string
  readonly wanted: Wanted
  readonly directory: string
  readonly token: string | undefined
  readonly setupCommands: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly base: MountableTemplateOptions
}

const home = '/home/user/'

/**
 * The default mountable template with the repository on top: directory, clone, one step per setup command, record.
 *
 * The credential's ENV step stands right before the clone and is blanked right after it: what comes before keeps its
 * cached layers whatever the token, and setup commands, which run other people's code, never see it.
 */
export const buildSteps = (plan: BuildPlan): TemplateBuilder => {
  const user = { user: 'user' }
  const names = Object.keys(plan.environment)
  const environment = environmentSteps(plan.environment)
  const credential = credentialStep(plan.token)

  let steps = createDefaultMountableTemplate(plan.base).template.runCmd(prepareScript(plan.directory), { user: 'root' })
  // E2B keys a cached layer by the step's text, which for an unpinned clone is the same at every commit.
  if (plan.wanted.sha === undefined) steps = steps.skipCache()
  const before = { ...environment, ...credential }
  if (Object.keys(before).length > 0) steps = steps.setEnvs(before)
  steps = steps.runCmd(cloneScript(plan, names), user)
  if (plan.token !== undefined) steps = steps.setEnvs(blanked(credential))
  for (const [index, command] of plan.setupCommands.entries()) {
    const name = `setup ${index + 1} of ${plan.setupCommands.length}`
    steps = steps.runCmd(setupScript(name, plan.directory, names, command), user)
  }
  steps = steps.runCmd(recordScript(plan), user)
  return names.length > 0 ? steps.setEnvs(blanked(environment)) : steps
}

/** As root, because the directory may lie outside of the user's home. */
const prepareScript = (directory: string): string => {
  const parents = directory.startsWith(home)
    ? directory
        .slice(home.length)
        .split('/')
        .map((_segment, index, segments) => `${home}${segments.slice(0, index + 1).join('/')}`)
    : [directory]
  return stepScript('directory', [
    failFunction,
    `warmbox_directory=${quoteShell(directory)}`,
    '[ -z "$(ls -A -- "$warmbox_directory" 2>/dev/null)" ] || warmbox_fail "$warmbox_directory is not empty"',
    'mkdir -p -- "$warmbox_directory"',
    `chown user: -- ${parents.map(quoteShell).join(' ')}`,
  ])
}

const cloneScript = (plan: BuildPlan, names: readonly string[]): string =>
  stepScript('clone', [
    failFunction,
    ...exportLines(names),
    ...hermeticGitLines(plan.clone.origin, CREDENTIAL_VARIABLE),
    ...cloneLines(plan.clone.cloneUrl, plan.wanted, quoteShell(plan.directory)),
  ])

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
