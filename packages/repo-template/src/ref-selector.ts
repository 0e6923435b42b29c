import { digestText } from '@warmbox/identity'
import { RepoTemplateError } from './errors.ts'

/** Which commit of the repository is meant. */
export interface RefSelector {
  /** As the server advertises it, such as `HEAD` or `refs/heads/main`. */
  readonly ref: string
  /** For messages to a person. */
  readonly description: string
  /** As the option it came from. */
  readonly selection: RefSelection
  /**
   * Keeps the tags of a line of development apart: `sha-<commit>` and `current` are the default branch's alone, whatever
   * is named has `sha-<commit>-<hash>`, and a branch `current-<hash>`. Two lines at one commit have two builds, because what
   * setup of another commit left in one is not to reach the other.
   */
  readonly lineSuffix: string
  /** A tag and a pull or merge request have no moving tag: never advanced, never stale. */
  readonly hasMovingTags: boolean
}

export interface RefSelection {
  /** A branch other than the default one, without `refs/heads/`. */
  readonly branch?: string | undefined
  /** A tag, without `refs/tags/`; an annotated one means the commit it points to. */
  readonly tag?: string | undefined
  /** Number of a pull request, as under `refs/pull/<number>/head`. */
  readonly pull?: number | undefined
  /** Number of a merge request, as GitLab has it under `refs/merge-requests/<number>/head`. */
  readonly mergeRequest?: number | undefined
}

/** What `git check-ref-format` refuses, plus a leading dash, which git would read as an option. */
const unsafeRefName = /^[-/]|[/.]$|\.\.|\/\/|@\{|^@$|[\s~^:?*[\\\p{Cc}\p{Cs}]|(?:^|\/)\.|\.lock(?:\/|$)/u

const assertRefName = (value: unknown, field: string): string => {
  if (typeof value !== 'string') {
    throw new RepoTemplateError({
      code: 'OPTION_TYPE',
      field,
      message: `${field} must be a string`,
      hint: `Write ${field}: '${field === 'tag' ? 'v1.0.0' : 'main'}', for one, or leave it out for the default branch.`,
    })
  }
  if (value === '' || value.length > 255 || unsafeRefName.test(value)) {
    throw new RepoTemplateError({
      code: 'OPTION_INVALID',
      field,
      message: `${field} is not a name git accepts`,
      hint: `Write the plain name, without refs/${field === 'tag' ? 'tags' : 'heads'}/.`,
    })
  }
  return value
}

const assertNumber = (value: unknown, field: string, what: string): void => {
  if (Number.isSafeInteger(value) && Number(value) >= 1) return
  throw new RepoTemplateError({
    code: 'OPTION_INVALID',
    field,
    message: `${field} must be the number of ${what}, 1 or above`,
    hint: `Write ${field}: 7, for one, the number in the URL of ${what}.`,
  })
}

/**
 * @throws RepoTemplateError `OPTION_CONFLICT` where more than one of `branch`, `tag`, `pull` and `mergeRequest` is given,
 * `OPTION_TYPE` or `OPTION_INVALID` for a value git would not accept.
 */
export const parseRefSelection = ({ branch, tag, pull, mergeRequest }: RefSelection): RefSelector => {
  const given = Object.entries({ branch, tag, pull, mergeRequest }).filter(([, value]) => value !== undefined)
  if (given.length > 1) {
    throw new RepoTemplateError({
      code: 'OPTION_CONFLICT',
      field: given.map(([name]) => name).join(', '),
      message: 'Only one of branch, tag, pull and mergeRequest can say which commit is meant',
      hint: `Leave out ${given
        .slice(1)
        .map(([name]) => name)
        .join(' and ')} to mean the ${given[0]?.[0]}.`,
    })
  }
  if (branch !== undefined) {
    const name = assertRefName(branch, 'branch')
    return {
      ref: `refs/heads/${name}`,
      description: `branch '${name}'`,
      selection: { branch: name },
      lineSuffix: suffixOf(name),
      hasMovingTags: true,
    }
  }
  if (tag !== undefined) {
    const name = assertRefName(tag, 'tag')
    return fixedLine(`refs/tags/${name}`, `tag '${name}'`, { tag: name })
  }
  if (pull !== undefined) {
    assertNumber(pull, 'pull', 'a pull request')
    return fixedLine(`refs/pull/${pull}/head`, `pull request ${pull}`, { pull })
  }
  if (mergeRequest !== undefined) {
    assertNumber(mergeRequest, 'mergeRequest', 'a merge request')
    return fixedLine(`refs/merge-requests/${mergeRequest}/head`, `merge request ${mergeRequest}`, { mergeRequest })
  }
  return { ref: 'HEAD', description: 'default branch', selection: {}, lineSuffix: '', hasMovingTags: true }
}

const suffixOf = (line: string): string => `-${digestText(line).slice(0, 16)}`

/** The colon is in no branch's name, so that no branch shares a suffix with another kind of line. */
const fixedLine = (ref: string, description: string, selection: RefSelection): RefSelector => ({
  ref,
  description,
  selection,
  lineSuffix: suffixOf(`:${ref}`),
  hasMovingTags: false,
})
