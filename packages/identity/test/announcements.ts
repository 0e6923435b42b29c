import { readdir, readFile } from 'node:fs/promises'

const changesets = new URL('../../../.changeset/', import.meta.url)
const changelog = new URL('../CHANGELOG.md', import.meta.url)

/**
 * What the users of this package are told, or will be on the next release: its changelog, and the changesets that end up
 * there. A release moves a text from one to the other.
 */
export async function readAnnouncements(): Promise<readonly string[]> {
  const names = (await readdir(changesets)).filter((name) => name.endsWith('.md'))
  const waiting = await Promise.all(names.map((name) => readFile(new URL(name, changesets), 'utf8')))
  return [...waiting.filter(isOfThisPackage), await readChangelog()]
}

/** Whether one of the texts says that templates rebuild, and because of which scheme or defaults, in one place. */
export const announces = (texts: readonly string[], key: string): boolean =>
  texts.some((text) => text.replaceAll(/\s+/g, ' ').toLowerCase().includes(`templates rebuild (${key.toLowerCase()})`))

/** Whether a changeset's front matter names this package, so that a release copies it into this package's changelog. */
export const isOfThisPackage = (changeset: string): boolean =>
  /^---\n(?:[^\n]+\n)*?['"]?@warmbox\/identity['"]?:[^\n]*\n(?:[^\n]+\n)*?---\n/.test(changeset)

const readChangelog = async (): Promise<string> => {
  try {
    return await readFile(changelog, 'utf8')
  } catch (error) {
    // Before the first release there is none.
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return ''
    throw error
  }
}
