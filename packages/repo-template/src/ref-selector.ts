import { digestText } from '@warmbox/identity'
import { RepoTemplateError } from './errors.ts'

/** Which commit of the repository is meant. */
export type RefSelector =
  | { readonly kind: 'default' }
  | { readonly kind: 'branch'; readonly name: string }
  | { readonly kind: 'tag'; readonly name: string }
  | { readonly kind: 'pull'; readonly number: number }

export interface RefSelection {
  /** A branch other than the default one, without `refs/heads/`. */
  readonly branch?: string
  /** A tag, without `refs/tags/`; an annotated one means the commit it points to. */
  readonly tag?: string
  /** Number of a pull request, as under `refs/pull/<number>/head`. */
  readonly pull?: number
}

/** What `git check-ref-format` refuses, plus a leading dash, which git would read as an option. */
const unsafeRefName = /^[-/]|[/.]$|\.\.|\/\/|@\{|^@$|[\s~^:?*[\\\p{Cc}\p{Cs}]|(?:^|\/)\.|\.lock(?:\/|$)/u

const assertRefName = (value: unknown, field: string): string => {
  if (typeof value !== 'string') {
    throw new RepoTemplateError({ code: 'OPTION_TYPE', field, message: `${field} must be a string` })
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

/**
 * @throws RepoTemplateError `OPTION_CONFLICT` where more than one of `branch`, `tag` and `pull` is given,
 * `OPTION_TYPE` or `OPTION_INVALID` for a value git would not accept.
 */
export const parseRefSelection = ({ branch, tag, pull }: RefSelection): RefSelector => {
  const given = Object.entries({ branch, tag, pull }).filter(([, value]) => value !== undefined)
  if (given.length > 1) {
    throw new RepoTemplateError({
      code: 'OPTION_CONFLICT',
      field: given.map(([name]) => name).join(', '),
      message: 'Only one of branch, tag and pull can say which commit is meant',
    })
  }
  if (branch !== undefined) return { kind: 'branch', name: assertRefName(branch, 'branch') }
  if (tag !== undefined) return { kind: 'tag', name: assertRefName(tag, 'tag') }
  if (pull !== undefined) {
    if (!Number.isSafeInteger(pull) || pull < 1) {
      throw new RepoTemplateError({
        code: 'OPTION_INVALID',
        field: 'pull',
        message: 'pull must be the number of a pull request, 1 or above',
      })
    }
    return { kind: 'pull', number: pull }
  }
  return { kind: 'default' }
}

/** The ref as the server advertises it. */
export const refNameOf = (selector: RefSelector): string => {
  switch (selector.kind) {
    case 'default':
      return 'HEAD'
    case 'branch':
      return `refs/heads/${selector.name}`
    case 'tag':
      return `refs/tags/${selector.name}`
    case 'pull':
      return `refs/pull/${selector.number}/head`
  }
}

/** For messages to a person. */
export const describeSelector = (selector: RefSelector): string => {
  switch (selector.kind) {
    case 'default':
      return 'default branch'
    case 'branch':
      return `branch '${selector.name}'`
    case 'tag':
      return `tag '${selector.name}'`
    case 'pull':
      return `pull request ${selector.number}`
  }
}

/**
 * The suffix that keeps the moving tags of a line of development apart: `current` is the default branch's alone, a
 * named branch has `current-<hash>`. A tag or a pull request has no moving tag: it is never advanced and never stale.
 */
export const lineSuffix = (selector: RefSelector): string | undefined => {
  switch (selector.kind) {
    case 'default':
      return ''
    case 'branch':
      return `-${digestText(selector.name).slice(0, 16)}`
    case 'tag':
    case 'pull':
      return undefined
  }
}

/** The selection as its option. */
export const selectionOf = (selector: RefSelector): RefSelection => {
  switch (selector.kind) {
    case 'default':
      return {}
    case 'branch':
      return { branch: selector.name }
    case 'tag':
      return { tag: selector.name }
    case 'pull':
      return { pull: selector.number }
  }
}
