import { environmentSteps, exportLines } from '../build/build-environment.ts'
import { callersGitLine, commandLine } from '../checkout/git-lines.ts'
import { attributed, writeRecordLines } from '../checkout/record.ts'
import type { ScriptRun } from './sandbox.ts'
import { enterLocked, recordOf, type SetupState, type SyncTarget } from './target.ts'

/**
 * One setup command, as the build runs it, with the build variables and without the credential. Whether it ends well or
 * not, the record then tells what it changed; `before` is what it says of setup as long as that has not ended well, and
 * `after` once it has.
 */
export const setupScript = (
  target: SyncTarget,
  name: string,
  command: string,
  environment: Readonly<Record<string, string>>,
  { before, after }: { readonly before: SetupState; readonly after: SetupState },
): ScriptRun => ({
  code: 'SETUP_FAILED',
  name,
  env: environmentSteps(environment),
  lines: [
    ...enterLocked(target),
    ...attributed([
      'warmbox_status=0',
      // In a shell of its own, so that build variables reach the command and nothing after it.
      '(',
      callersGitLine,
      ...exportLines(Object.keys(environment)),
      commandLine(command),
      ') 9<&- || warmbox_status=$?',
    ]),
    'if [ "$warmbox_status" = 0 ]; then',
    ...writeRecordLines(recordOf(target, after), '$warmbox_baked'),
    'else',
    ...writeRecordLines(recordOf(target, before), '$warmbox_baked'),
    'fi',
    'exit "$warmbox_status"',
  ],
})

/** Writes that the checkout is at the wanted commit already. Who changed what in it is as unknown, or known, as before. */
export const recordScript = (target: SyncTarget, setup: SetupState): ScriptRun => ({
  code: 'SYNC_FAILED',
  name: 'record',
  lines: [...enterLocked(target), ...attributed([]), ...writeRecordLines(recordOf(target, setup), '$warmbox_baked')],
})
