import { askWhere, enterLines, whereLines } from '../checkout/git-lines.ts'
import { measureLines } from '../checkout/measure.ts'
import { RECORD_IN_GIT, readRecordLines } from '../checkout/record.ts'
import { assign, fieldLine, type ScriptRun } from './sandbox.ts'
import { PARTS_DUE } from './target.ts'

/**
 * Looks without touching anything. `state` is `none` for no directory or one that is no checkout with a commit (an
 * interrupted clone is none), `checkout` otherwise; then `head`, what {@link measureLines} measures, the `record`, and whether `parts` are due.
 */
export const inspectScript = (path: string): ScriptRun => ({
  code: 'SYNC_FAILED',
  name: 'looking at the checkout',
  lines: [
    assign('warmbox_path', path),
    'if [ ! -e "$warmbox_path/.git" ]; then',
    `  ${fieldLine('state', 'none')}`,
    '  exit 0',
    'fi',
    ...enterLines('"$warmbox_path"'),
    `if ! { ${askWhere}; } 2>/dev/null; then`,
    // A whole repository that git refuses to read is somebody's: git says why. Anything less is an interrupted clone.
    '  if [ -e .git/HEAD ] && [ -d .git/objects ] && [ -d .git/refs ]; then git rev-parse --git-dir >/dev/null; fi',
    `  ${fieldLine('state', 'none')}`,
    '  exit 0',
    'fi',
    ...whereLines.slice(1),
    ...measureLines,
    ...readRecordLines(`$warmbox_git_directory/${RECORD_IN_GIT}`),
    fieldLine('state', 'checkout'),
    fieldLine('head', '$warmbox_head'),
    fieldLine('changed', '$warmbox_changed'),
    fieldLine('clean', '$([ "$warmbox_worktree" = "$warmbox_clean" ] && echo yes || echo no)'),
    fieldLine('parts', `$([ -e "$warmbox_git_directory/${PARTS_DUE}" ] && echo due || true)`),
    fieldLine('lockfiles', '$warmbox_lockfiles'),
    fieldLine('worktree', '$warmbox_worktree'),
    fieldLine('record', '$warmbox_record'),
  ],
})

/** Prints the `record` an image says of itself; empty where there is none. */
export const templateRecordScript = (file: string): ScriptRun => ({
  code: 'SYNC_FAILED',
  name: "looking at the image's record",
  lines: [assign('warmbox_file', file), ...readRecordLines('$warmbox_file'), fieldLine('record', '$warmbox_record')],
})
