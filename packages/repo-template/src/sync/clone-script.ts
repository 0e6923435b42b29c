import { CREDENTIAL_VARIABLE } from '../build/build-environment.ts'
import { failFunction } from '../build/step-script.ts'
import { cloneLines, enterLines, hermeticGitLines } from '../checkout/git-lines.ts'
import { partLines } from '../checkout/part-lines.ts'
import { recordLines } from '../checkout/record.ts'
import { lockLines } from './lock.ts'
import { assign, fieldLine, type ScriptRun } from './sandbox.ts'
import { credentialEnvironment, recordOf, type SetupState, type SyncTarget } from './target.ts'

/**
 * Clones next to the target and renames, so that an interrupted sync leaves nothing that looks like a checkout. What is
 * in the way (an interrupted clone, files of somebody) is set aside, not deleted; `aside` then is where it lies. `present`
 * where another sync was there first, whose checkout stays.
 */
export const cloneScript = (target: SyncTarget, setup: SetupState): ScriptRun => ({
  code: 'SYNC_FAILED',
  name: 'clone',
  env: credentialEnvironment(target),
  lines: [
    failFunction,
    assign('warmbox_path', target.path),
    ...hermeticGitLines(target.origin, CREDENTIAL_VARIABLE, target.credential?.scheme),
    'mkdir -p -- "$(dirname -- "$warmbox_path")"',
    'warmbox_clone="$(mktemp -d -- "$(dirname -- "$warmbox_path")/.warmbox-clone.XXXXXX")"',
    `trap 'rm -rf -- "$warmbox_clone"' EXIT`,
    ...cloneLines(target.cloneUrl, { sha: target.sha }, '"$warmbox_clone/checkout"'),
    ...partLines(target.parts, 'online'),
    ...recordLines(recordOf(target, setup)),
    'cd -- "$(dirname -- "$warmbox_path")"',
    ...lockLines('.', target.waitSeconds),
    'warmbox_present() (',
    ...enterLines('"$warmbox_path"').map((line) => `  ${line}`),
    `  git rev-parse --quiet --verify 'HEAD^{commit}'`,
    ')',
    'if [ -e "$warmbox_path/.git" ] && warmbox_present >/dev/null 2>&1; then',
    `  ${fieldLine('present', 'yes')}`,
    '  exit 0',
    'fi',
    'if [ -e "$warmbox_path" ] || [ -L "$warmbox_path" ]; then',
    '  if ! rmdir -- "$warmbox_path" 2>/dev/null; then',
    '    warmbox_aside="$(mktemp -d -- "$warmbox_path.before-sync.XXXXXX")"',
    '    mv -T -- "$warmbox_path" "$warmbox_aside/$(basename -- "$warmbox_path")"',
    `    ${fieldLine('aside', '$warmbox_aside/$(basename -- "$warmbox_path")')}`,
    '  fi',
    'fi',
    'mv -T -- "$warmbox_clone/checkout" "$warmbox_path"',
  ],
})
